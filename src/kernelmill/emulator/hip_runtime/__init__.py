"""The stand-in for AMD's HIP runtime: answers a library's calls, and has kernels emulated."""

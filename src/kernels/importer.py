"""The kernels that this process has loaded."""

from kernelmill.runtime.upstream.loaded import LoadedKernel, get_loaded_kernels

__all__ = ["LoadedKernel", "get_loaded_kernels"]

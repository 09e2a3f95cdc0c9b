"""Kernels of Python files only, such as Triton kernels: nothing is compiled."""

"""Build, check, share and load compute kernels for PyTorch."""

__version__ = "0.1.0"

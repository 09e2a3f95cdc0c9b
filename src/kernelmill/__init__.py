"""Build, check, share and load compute kernels for PyTorch."""

__version__ = "0.1.0"

API_VERSION = "0.18.2"
"""The version of Hugging Face's ``kernels`` whose interface the package ``kernels`` offers."""

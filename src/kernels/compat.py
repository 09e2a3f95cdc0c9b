"""What this environment has."""

import tomllib

from kernelmill.runtime.probe import has_package

has_torch = has_package("torch")
has_tvm_ffi = has_package("tvm_ffi")

__all__ = ["has_torch", "has_tvm_ffi", "tomllib"]

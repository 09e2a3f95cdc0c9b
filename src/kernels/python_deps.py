"""The Python packages that kernels may need."""

from kernelmill.runtime.upstream.validation import (
    validate_dependencies,
    validate_variant_dependencies,
)

__all__ = ["validate_dependencies", "validate_variant_dependencies"]

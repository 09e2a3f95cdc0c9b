"""The Python packages that kernels may need."""

from kernelmill.spec.dependencies import (
    PYTHON_DEPENDENCIES,
    PythonDependency,
)

__all__ = [
    "PYTHON_DEPENDENCIES",
    "PythonDependency",
]

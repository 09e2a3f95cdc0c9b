"""The class that benchmark scripts of kernels extend."""

from kernelmill.runtime.benchmark import Benchmark

__all__ = ["Benchmark"]

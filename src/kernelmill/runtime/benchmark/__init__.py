"""Timing of kernels: the scripts in a kernel's ``benchmarks`` folder, run and summed up."""

from kernelmill.runtime.benchmark.case import Benchmark

__all__ = ["Benchmark"]

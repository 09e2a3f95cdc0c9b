"""The class that benchmark scripts extend. Imports nothing, so that scripts may do so first."""

from __future__ import annotations

from typing import Any, ClassVar


class Benchmark:
    """A group of workloads of one kernel.

    Each method ``benchmark_<w>`` is a workload: it is timed, on a new instance for each. Before
    it, ``setup_<w>`` runs, or ``setup`` where there is none. ``verify_<w>``, if there is one,
    returns what the workload should have left in ``self.out``.
    """

    seed: ClassVar[int | None] = None
    """For the random numbers of ``setup``."""
    device: str = "cpu"
    """Where tensors belong, as PyTorch names it; set before ``setup``."""

    def __init__(self) -> None:
        self.kernel: Any = None
        """The kernel's module; set before ``setup``."""
        self.out: Any = None
        """What the workload computes."""

    def setup(self) -> None:
        """Make the tensors that every workload without a ``setup_<w>`` uses."""

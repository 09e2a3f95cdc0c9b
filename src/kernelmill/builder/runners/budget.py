"""How variants that are built at the same time share the compilers that may run at once."""

from __future__ import annotations

import threading


class Budget:
    """So many compilers, part of which is lent to each build that runs.

    >>> budget = Budget(5)
    >>> budget.take(waiting=3), budget.take(waiting=2), budget.take(waiting=1)
    (1, 2, 2)
    >>> budget.take(waiting=1)
    0
    >>> budget.give_back(2)
    >>> budget.take(waiting=1)
    2
    """

    def __init__(self, compilers: int) -> None:
        self._free = max(1, compilers)
        self._lock = threading.Lock()

    def take(self, *, waiting: int) -> int:
        """Return how many compilers the next build may run; 0 when it has to wait.

        Args:
            waiting: how many builds there are to share what is free, the next one included.
        """
        with self._lock:
            share = max(1, self._free // max(1, waiting)) if self._free else 0
            self._free -= share
        return share

    def give_back(self, compilers: int) -> None:
        """Return what a build had, when it is done."""
        with self._lock:
            self._free += compilers

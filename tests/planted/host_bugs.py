"""Bugs on the host's side: what it allocates, copies, frees and launches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from tests.planted.values import Bug

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.planted.values import Setup


def free(name: str, setup: Setup) -> Setup:
    """Free a buffer before the launch."""
    return replace(setup, freed=frozenset({name}))


def forget(name: str, setup: Setup) -> Setup:
    """Allocate a buffer, but copy nothing to it."""
    return replace(setup, fresh=frozenset({name}))


def shorten(name: str, size_bytes: int, setup: Setup) -> Setup:
    """Allocate too little."""
    return replace(setup, missing_bytes={name: size_bytes})


def swap(old: str, new: str, setup: Setup) -> Setup:
    """Pass one buffer in place of another."""
    arguments = tuple(new if item == old else item for item in setup.arguments)
    return replace(setup, arguments=arguments)


def enlarge(grid: tuple[int, int, int], setup: Setup) -> Setup:
    """Launch another grid."""
    return replace(setup, grid=grid)


def shrink_lds(size_bytes: int, setup: Setup) -> Setup:
    """Ask for less dynamic LDS."""
    return replace(setup, lds_bytes=size_bytes)


def bug(program: str, name: str, change: Callable[[Setup], Setup], *kinds: str) -> Bug:
    """Return a bug on the host's side."""
    return Bug(
        program=program, name=name, family="host", change=change, kinds=frozenset(kinds)
    )  # fmt: skip


BUGS: Final = (
    bug("gemm", "a is freed before the launch", partial(free, "a"), "use-after-free"),
    bug("gemm", "out is freed before the launch", partial(free, "out"), "use-after-free"),
    bug("gemm", "a is never copied", partial(forget, "a"), "uninitialised-memory"),
    bug("gemm", "b_scale is never copied", partial(forget, "b_scale"), "uninitialised-memory"),
    bug("gemm", "out is a number short", partial(shorten, "out", 2), "out-of-bounds"),
    bug("gemm", "b is a byte short", partial(shorten, "b", 1), "out-of-bounds"),
    bug("reduction", "in is freed before the launch", partial(free, "in"), "use-after-free"),
    bug("reduction", "in is never copied", partial(forget, "in"), "uninitialised-memory"),
    bug("reduction", "out is a number short", partial(shorten, "out", 4), "out-of-bounds"),
    bug("transpose", "in is a row short", partial(shorten, "in", 4 * 71), "out-of-bounds"),
    bug("transpose", "out is in", partial(swap, "out", "in"), "global-race"),
    bug("swizzle", "LDS is a word short", partial(shrink_lds, 16380), "lds-out-of-bounds"),
    bug("swizzle", "no LDS at all", partial(shrink_lds, 0), "lds-out-of-bounds"),
    bug("swizzle", "a workgroup too many", partial(enlarge, (2, 3, 1)), "out-of-bounds"),
    bug("stencil", "out is in", partial(swap, "out", "in"), "global-race"),
    bug("stencil", "in is freed before the launch", partial(free, "in"), "use-after-free"),
    bug("histogram", "counts are not cleared", partial(forget, "counts"), "uninitialised-memory"),
    bug("histogram", "ended is not cleared", partial(forget, "ended"), "uninitialised-memory"),
    bug("histogram", "counts are one short", partial(shorten, "counts", 4), "out-of-bounds"),
    bug("matrix", "b is never copied", partial(forget, "b"), "uninitialised-memory"),
    bug("matrix", "a workgroup too many", partial(enlarge, (3, 1, 1)), "out-of-bounds"),
    bug("scan", "out is freed before the launch", partial(free, "out"), "use-after-free"),
)  # fmt: skip

"""How each kind of SDK is made. One module and one line here for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A file that a recipe needs: a wheel of a package index, or a library of this machine."""

    name: str
    """Of the package, or of the library's file."""
    version: str
    """Exact; empty for a library of this machine, which has the one that it has."""
    is_literal: bool = False
    """Whether ``1.2.0`` means just that, and not ``1.2.0+cpu``, which is within it."""
    known: Mapping[str, str] = field(default_factory=dict)
    """File name -> sha256, of those that are known. Others are taken, and recorded."""
    is_local: bool = False
    """Whether it is a library that this machine's C++ compiler links to."""
    source: Literal["index", "debian"] = "index"
    """Where a file that is not local comes from: a wheel of an index, or Debian's packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a recipe says about the tree that it made."""

    version: str
    """The whole version, which may be more exact than the one that was asked for."""
    facts: Mapping[str, str] = field(default_factory=dict)


class Recipe(Protocol):
    """What a recipe's module says. Every module here is one."""

    KIND: str
    """The first part of its SDKs' names."""
    SUMMARY: str
    """One line for ``sdk list``."""

    def wanted(self, version: str, platform: str, /) -> Sequence[Wanted]:
        """Return the files that it needs.

        Args:
            version: of the SDK, as the user wrote it.
            platform: ``x86_64-linux``.

        Raises:
            InputError: there is no such SDK.
        """

    def make(
        self, files: Mapping[str, Path], platform: str, tree: Path, note: Callable[[str], None], /
    ) -> Made:
        """Make the tree.

        The same files must give the same tree, on any machine.

        Args:
            files: by the name of what was wanted.
            platform: as for ``wanted``.
            tree: a folder that does not exist yet.
            note: called with a line for each step.

        Raises:
            SdkError: a file is not what it should be.
        """


def recipes() -> dict[str, Recipe]:
    """Return kind -> recipe."""
    from kernelmill.builder.sdk.recipes import (  # noqa: PLC0415 - they import this
        abi_stubs,
        cuda,
        cuda_math,
        cutlass,
        cxx,
        shell,
        tools,
        torch,
        zig,
    )

    kinds = (torch, abi_stubs, cuda, cuda_math, cutlass, cxx, tools, zig, shell)
    return {it.KIND: it for it in kinds}

"""Readers of the values that occur in ``build.toml``, whatever its edition."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, TypeVar

from kernelmill.spec.backend import normalise_gfx
from kernelmill.spec.dependencies import PYTHON_DEPENDENCIES
from kernelmill.spec.errors import InvalidName
from kernelmill.spec.reader import Convert, Place, allowed_hint, each, text

if TYPE_CHECKING:
    from kernelmill.spec.backend import Backend

T = TypeVar("T")

_GIT_URL: Final = re.compile(
    r"(?:https?|git|ssh|git\+ssh|git\+https|git\+http)://\S+|[\w.-]+@[\w.-]+:\S+"
)
_CAPABILITY: Final = re.compile(r"[0-9]{1,2}\.[0-9][af]?(?:\+PTX)?")
_PYEXT: Final = re.compile(r"\.?[A-Za-z0-9_]+")
UNBUILDABLE: Final = re.compile(r"""["'`$;<>|&*?\\]""")
"""What CMake, Ninja or a shell takes for more than a part of a name."""
_WINDOWS_PATH: Final = re.compile(r"[A-Za-z]:|.*\\")


def python_depend(backend: Backend | None) -> Convert[str]:
    """Return a reader of names of Python packages allowed for ``backend`` (``None``: for all)."""

    def read_name(value: object, place: Place) -> str:
        name = text(value, place)
        known = {it.name: it.backend for it in PYTHON_DEPENDENCIES}
        if name not in known:
            here = [key for key, owner in known.items() if owner in {None, backend}]
            raise place.fail(f"unknown Python dependency {name!r}", allowed_hint(name, here))
        owner = known[name]
        if owner not in {None, backend}:
            problem = f"Python dependency {name!r} is for {owner} only"
            raise place.fail(problem, f"move it to [general.{owner}]")
        return name

    return read_name


def extension(value: object, place: Place) -> str:
    """Read a file extension, with or without its dot."""
    word = text(value, place)
    if not _PYEXT.fullmatch(word):
        raise place.fail(f"{word!r} is not a file extension", 'write it as "json"')
    return word.removeprefix(".")


def path(value: object, place: Place) -> str:
    """Read a path inside the kernel's repository, with ``/``."""
    word = text(value, place)
    parts = PurePosixPath(word)
    if parts.is_absolute() or word.startswith("~") or _WINDOWS_PATH.match(word):
        hint = "write it relative to build.toml, with /"
        raise place.fail(f"path {word!r} is not relative", hint)
    if not word.isprintable() or UNBUILDABLE.search(word):
        hint = "rename it: letters, digits, spaces and -_.+ are safe"
        raise place.fail(f"path {word!r} holds a character that build tools mistake", hint)
    if ".." in parts.parts:
        hint = "copy the files into the kernel's repository"
        raise place.fail(f"path {word!r} leaves the repository", hint)
    return str(parts)


def flags(value: object, place: Place) -> tuple[str, ...]:
    """Read compiler flags. A flag may come twice: ``-Xclang -a -Xclang -b``."""
    if not isinstance(value, list):
        return each(text)(value, place)
    return tuple(text(it, place.item(index)) for index, it in enumerate(value))


def git_url(value: object, place: Place) -> str:
    """Read the URL of a git repository."""
    url = text(value, place)
    if not _GIT_URL.fullmatch(url):
        raise place.fail(f"{url!r} is not a git URL", "write it as https://example.org/owner/name")
    return url


def capability(value: object, place: Place) -> str:
    """Read a CUDA compute capability, such as ``9.0a`` or ``12.0+PTX``."""
    word = text(value, place)
    if not _CAPABILITY.fullmatch(word):
        hint = 'write it as "9.0", "9.0a" or "12.0+PTX"'
        raise place.fail(f"{word!r} is not a compute capability", hint)
    return word


def gfx(value: object, place: Place) -> str:
    """Read an AMD architecture without feature flags."""
    arch = text(value, place)
    try:
        plain = normalise_gfx(arch)
    except InvalidName as error:
        raise place.fail(error.problem, error.hint) from error
    if plain != arch:
        raise place.fail(f"arch {arch!r} has feature flags", f'write "{plain}"')
    return arch


def filled(convert: Convert[tuple[T, ...]]) -> Convert[tuple[T, ...]]:
    """Return a reader that refuses an empty array."""

    def read_filled(value: object, place: Place) -> tuple[T, ...]:
        items = convert(value, place)
        if isinstance(value, list) and not value:
            raise place.fail("empty array", "list at least one, or remove the key")
        return items

    return read_filled

"""Version strings of PyTorch, ROCm, CUDA and others, read as leniently as the wild needs."""

from __future__ import annotations

import re
from typing import Final

from kernelmill.spec.errors import InvalidVersion
from kernelmill.spec.values import dataclass

_LEADING: Final = re.compile(r"\s*v?(?P<major>[0-9]{1,9})\.(?P<minor>[0-9]{1,9})(?![0-9])")
# Only right behind the numbers: the commit in "7.1.52802-26aae437b6" holds an "a" and a "b" too.
_PRERELEASE: Final = re.compile(
    r"\s*v?[0-9.]+[-_.]?(?:a|alpha|b|beta|c|rc|pre|preview|dev)[-_.]?[0-9]*(?![a-z0-9])"
)
_RELEASE: Final = re.compile(r"[0-9.]+(?:\.post[0-9]+)?")
_MAJOR_MINOR: Final = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The parts of a version that decide compatibility."""

    major: int
    minor: int
    is_prerelease: bool
    """A nightly, alpha, beta, candidate or source build: its ABI may still change."""
    local: str
    """What follows ``+``, such as ``cpu``. Never decides anything: builds lie here."""
    text: str
    """The string as it was given."""

    @property
    def series(self) -> tuple[int, int]:
        """Major and minor."""
        return self.major, self.minor

    def __str__(self) -> str:
        return self.text


def parse_release(text: str, *, what: str) -> Release:
    """Read the leading ``major.minor`` of a version, whatever follows.

    Accepts nightlies (``2.13.0.dev20260701+cu130``), vendor builds that are no PEP 440 versions
    (``2.0.0.nv23.05``), source builds (``2.8.0a0+git6c0e746``) and HIP's ``7.1.52802-26aae437f6``.

    Args:
        text: the version.
        what: whose version it is, for the error: ``"PyTorch"``.

    Raises:
        InvalidVersion: the text does not begin with two numbers; quotes the text.
    """
    text = str(text)  # torch.__version__ is a str subclass with comparisons of its own
    leading = _LEADING.match(text)
    if leading is None:
        raise InvalidVersion(
            f"cannot read {what} version {text!r}", hint="it should begin with two numbers: 2.13"
        )
    public, _, local = text.strip().partition("+")
    return Release(
        major=int(leading["major"]),
        minor=int(leading["minor"]),
        is_prerelease=_is_prerelease(public),
        local=local,
        text=text,
    )


def _is_prerelease(public: str) -> bool:
    if _RELEASE.fullmatch(public):
        return False
    from packaging import version as pep440  # noqa: PLC0415 - most versions are numbers alone

    try:
        return pep440.Version(public).is_prerelease
    except ValueError:  # no PEP 440 version, or numbers too long for int()
        return bool(_PRERELEASE.match(public.lower()))


def parse_major_minor(text: str, *, where: str) -> tuple[int, int]:
    """Read exactly ``major.minor``, as ``build.toml`` writes versions."""
    if not (match := _MAJOR_MINOR.fullmatch(text)):
        raise InvalidVersion(
            f"{text!r} is not a version", where=where, hint='write two numbers, such as "2.13"'
        )
    return int(match[1]), int(match[2])

"""What the environment says about emulating. ``kernel-emulator run`` sets it for its command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.emulator.device.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping

ACTIVE: Final = "KERNELMILL_EMULATOR"
"""Set to 1: Python processes with our start-up hook on their path emulate."""
SANITIZE: Final = "KERNELMILL_EMULATOR_SANITIZE"
PROFILE: Final = "KERNELMILL_EMULATOR_PROFILE"
MAX_INSTRUCTIONS: Final = "KERNELMILL_EMULATOR_MAX_INSTRUCTIONS"
LOG: Final = "KERNELMILL_EMULATOR_LOG"
ROCM: Final = "KERNELMILL_EMULATOR_ROCM"
ANY_TORCH: Final = "KERNELMILL_EMULATOR_ANY_TORCH"
CACHE: Final = "KERNELMILL_EMULATOR_CACHE"
INDUCTOR: Final = "KERNELMILL_EMULATOR_INDUCTOR"

DEFAULT_ROCM: Final = "7.1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to emulate."""

    is_active: bool
    sanitize: bool
    profile: bool
    """Count what launches ask of memory and LDS."""
    max_instructions: int | None
    """After which a kernel is taken to be stuck."""
    log_folder: Path | None
    """Where processes write their launches down."""
    rocm: str
    """What ``torch.version.hip`` says."""
    allows_any_torch: bool
    """Also a version that was not tested."""
    cache: Path
    """Compiled libraries."""
    uses_inductor: bool
    """Leave ``torch.compile`` its default backend, which needs Triton."""
    path: str
    """Where compilers are."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings in ``environ``.

    Raises:
        DeviceError: a switch has a value other than 0 or 1, or a number is none.
    """
    log = environ.get(LOG)
    return Settings(
        is_active=_switch(environ, ACTIVE),
        sanitize=_switch(environ, SANITIZE),
        profile=_switch(environ, PROFILE),
        max_instructions=_count(environ, MAX_INSTRUCTIONS),
        log_folder=Path(log) if log else None,
        rocm=environ.get(ROCM) or DEFAULT_ROCM,
        allows_any_torch=_switch(environ, ANY_TORCH),
        cache=_cache(environ),
        uses_inductor=_switch(environ, INDUCTOR),
        path=environ.get("PATH", ""),
    )


def _switch(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "")
    if value not in {"", "0", "1"}:
        raise DeviceError(f"{value!r} is neither 0 nor 1", where=name, hint=f"set {name}=1")
    return value == "1"


def _count(environ: Mapping[str, str], name: str) -> int | None:
    value = environ.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdecimal() and int(value)):
        raise DeviceError(f"{value!r} is not a number of instructions", where=name)
    return int(value)


def _cache(environ: Mapping[str, str]) -> Path:
    if own := environ.get(CACHE):
        return Path(own)
    base = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME', '/tmp')}/.cache"
    return Path(base) / "kernelmill" / "emulator"

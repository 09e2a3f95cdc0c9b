"""The installed apache-tvm-ffi: its wheel holds headers and library."""

from __future__ import annotations

from kernelmill.builder.errors import ToolchainError
from kernelmill.builder.toolchain.facts import read_facts
from kernelmill.spec.values import dataclass
from kernelmill.spec.version import parse_release

_HINT = "pip install apache-tvm-ffi"


@dataclass(frozen=True, slots=True, kw_only=True)
class TvmFfiInstall:
    """A TVM FFI that extensions can be compiled against."""

    version: tuple[int, int]
    include: str
    library: str


def probe_tvm_ffi(python: str) -> TvmFfiInstall | None:
    """Ask the interpreter ``python`` for its TVM FFI; None when it has none."""
    try:
        facts = read_facts("tvm_ffi", python, hint=_HINT)
    except ToolchainError:
        return None
    return TvmFfiInstall(
        version=parse_release(facts["version"], what="TVM FFI").series,
        include=facts["include"],
        library=facts["library"],
    )


def require_tvm_ffi(found: TvmFfiInstall | None) -> TvmFfiInstall:
    """Return what was found.

    Raises:
        ToolchainError: nothing was.
    """
    if found is None:
        raise ToolchainError("TVM FFI is not installed", hint=_HINT)
    return found

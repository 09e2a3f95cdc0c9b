"""Brings a manifest of an old edition up to the newest, one edition after another.

Each old edition is a module with ``KEYS``, what its tables may hold, and ``upgrade``, which returns
the edits that make the next edition of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from kernelmill.spec.editions import v1, v2, v3, v4
from kernelmill.spec.editions.edits import apply
from kernelmill.spec.editions.step import Step, table_at
from kernelmill.spec.reader import did_you_mean
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from kernelmill.spec.editions.edits import Edit
    from kernelmill.spec.editions.step import Keys, LicenseHint
    from kernelmill.spec.reader import Faults

    class _Edition(Protocol):
        KEYS: Keys

        def upgrade(self, step: Step) -> None:
            """Record in ``step`` what makes the next edition."""


NEWEST: Final = 5
_EDITIONS: Final[Mapping[int, _Edition]] = {1: v1, 2: v2, 3: v3, 4: v4}
_NEW_IN_5: Final[Keys] = {
    ("general",): ("edition", "kernel-depends", "tpu"),
    ("general", "cuda"): ("kernel-depends",),
    ("general", "neuron"): ("kernel-depends",),
    ("general", "xpu"): ("kernel-depends",),
}
_SINCE_3: Final = frozenset(
    {"backends", "version", "license", "upstream", "source", "kernel-depends"}
)
_SINCE_4: Final = {"torch": {"stable-abi", "cxx-flags"}, "tvm-ffi": {"cxx-flags"}}
_SINCE_2: Final = frozenset({"universal", "cuda-minver", "cuda-maxver", "hub", "python-depends"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """What makes edition 5 of a document, and what had to be assumed."""

    edition: int
    """The edition that the document was taken for."""
    edits: tuple[Edit, ...]
    assumed: tuple[str, ...]
    """What the document does not say, or said in vain; one phrase each."""
    lacks_license: bool
    """The document names no license, and nothing else was known of one."""


def detect_edition(document: Mapping[str, Any]) -> int:
    """Tell the edition of a document that does not say, by the keys it uses. 1 to 4."""
    general = table_at(document, "general")
    kernels = [it for it in table_at(document, "kernel").values() if isinstance(it, Mapping)]
    torch = table_at(document, "torch")
    if _SINCE_3 & set(general) or {"torch-noarch", "tvm-ffi"} & set(document):
        return _three_or_four(document, general)
    if any("language" in it for it in kernels) or "universal" in torch:
        return 1
    if any("backend" in it for it in kernels) or _SINCE_2 & set(general):
        return 2
    return 2 if {"minver", "maxver"} & set(torch) else 1


def _three_or_four(document: Mapping[str, Any], general: Mapping[str, Any]) -> int:
    """Tell which: edition 4 requires more, and is the same where the file has all of it."""
    new = any(keys & set(table_at(document, name)) for name, keys in _SINCE_4.items())
    if new or "source" in general or "kernel-depends" in general:
        return 4
    has_framework = {"torch", "torch-noarch", "tvm-ffi"} & set(document)
    return 4 if has_framework and {"version", "license"} <= set(general) else 3


def upgrade(
    document: Mapping[str, Any], faults: Faults, license_hint: LicenseHint | None
) -> tuple[Upgrade, dict[str, Any]]:
    """Return the upgrade of a document without edition, and the document after it.

    Keys that its edition does not have are recorded in ``faults`` and left out.
    """
    edition = detect_edition(document)
    current = _known_part(document, edition, faults)
    edits: list[Edit] = []
    assumed: list[str] = []
    lacks_license = False
    for number in range(edition, NEWEST):
        step = Step(document=current, faults=faults, done=tuple(edits), license_hint=license_hint)
        _EDITIONS[number].upgrade(step)
        current = apply(current, step.edits)
        edits += step.edits
        assumed += step.assumed
        lacks_license = lacks_license or step.lacks_license
    made = Upgrade(
        edition=edition,
        edits=tuple(edits),
        assumed=tuple(assumed),
        lacks_license=lacks_license,
    )
    return made, current


def _known_part(document: Mapping[str, Any], edition: int, faults: Faults) -> dict[str, Any]:
    """Return the document without the keys that its edition does not have."""

    def known_part(table: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        allowed = _keys_at(_EDITIONS[edition].KEYS, path)
        if allowed is None:
            return dict(table)
        kept: dict[str, Any] = {}
        for key, value in table.items():
            if allowed and key not in allowed:
                hint = _unknown_hint(key, path, allowed, edition)
                problem = f"edition {edition} has no key {key!r} here"
                faults.add((*path, key), problem, hint)
            elif isinstance(value, Mapping):
                kept[key] = known_part(value, (*path, key))
            else:
                kept[key] = value
        return kept

    return known_part(document, ())


def _keys_at(keys: Keys, path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the keys allowed at ``path``; empty for any, ``None`` where nobody says."""
    if path == ("kernel",):
        return ()
    is_kernel = len(path) == 2 and path[0] == "kernel"
    return keys.get(("kernel", "*") if is_kernel else path)


def _unknown_hint(key: str, path: tuple[str, ...], allowed: tuple[str, ...], edition: int) -> str:
    for later in range(edition + 1, NEWEST + 1):
        keys = _EDITIONS[later].KEYS if later < NEWEST else _NEW_IN_5
        if key in (_keys_at(keys, path) or ()):
            way = (
                f"add edition = {NEWEST} to [general]"
                if edition == NEWEST - 1
                else "remove it, run `kernel-builder update-build`, and write it again"
            )
            return f"edition {later} has it: {way}"
    return did_you_mean(key, allowed) or f"allowed here: {', '.join(sorted(allowed))}"

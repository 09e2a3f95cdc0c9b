"""``build.toml``: how an author describes a kernel. Reads editions 1 to 5, writes edition 5."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final, assert_never

from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.editions import v5
from kernelmill.spec.editions.edits import Edit, origin
from kernelmill.spec.editions.history import NEWEST, Upgrade, upgrade
from kernelmill.spec.editions.model import (
    BackendGeneral,
    CudaGeneral,
    Framework,
    General,
    HubTarget,
    Kernel,
    Manifest,
    Torch,
    TorchNoarch,
    TvmFfi,
)
from kernelmill.spec.editions.step import UNKNOWN_LICENSE, LicenseHint
from kernelmill.spec.errors import InputError, ManifestError
from kernelmill.spec.reader import Faults, Place, Table
from kernelmill.spec.toml_lines import KeyPath, key_lines
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import DataclassInstance

__all__ = [
    "UNKNOWN_LICENSE",
    "BackendGeneral",
    "CudaGeneral",
    "Edit",
    "Framework",
    "General",
    "HubTarget",
    "Kernel",
    "LicenseHint",
    "Manifest",
    "Reading",
    "Torch",
    "TorchNoarch",
    "TvmFfi",
    "dumps",
    "parse",
    "places",
    "read",
]

_AT_LINE: Final = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_TWICE: Final = re.compile(r"Cannot declare \('kernel', '(?P<name>.*)'\) twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A manifest, and how it came out of its file."""

    manifest: Manifest
    """In terms of the newest edition."""
    edition: int
    """The file's own."""
    edits: tuple[Edit, ...] = ()
    """What makes the newest edition of the file; empty when it is that."""
    assumed: tuple[str, ...] = ()
    """What the file does not say, in a phrase each: ``version 1``."""
    lacks_license: bool = False
    """The file names no license, and the reader was given none."""


def parse(
    content: str, *, where: str = "build.toml", license_hint: LicenseHint | None = None
) -> Manifest:
    """Read ``build.toml`` of any edition; see ``read``."""
    return read(content, where=where, license_hint=license_hint).manifest


def read(
    content: str, *, where: str = "build.toml", license_hint: LicenseHint | None = None
) -> Reading:
    """Read ``build.toml`` of any edition.

    Args:
        content: the file's text.
        where: its name, for errors.
        license_hint: the license to take where an old edition names none.

    Raises:
        ManifestError: ``faults`` has every mistake, in the file's order, each with its line.
    """
    document, lines = _load(content, where)
    faults = Faults(file=where, lines=lines)
    made, current = _upgrade(document, faults, license_hint)
    manifest = None
    if made is not None:
        manifest = v5.read(Table(current, Place(path=(), faults=_moved(faults, made.edits))))
    if made is None or manifest is None or faults.found:
        count = len(faults.found)
        problem = f"{count} mistake{'s' if count > 1 else ''} in {where}"
        raise ManifestError(problem, where=where, faults=faults.found)
    return Reading(
        manifest=manifest,
        edition=made.edition,
        edits=made.edits,
        assumed=made.assumed,
        lacks_license=made.lacks_license,
    )


def places(content: str, *, where: str = "build.toml") -> Faults:
    """Return an empty list of mistakes that knows where the file has what its manifest holds."""
    document, lines = _load(content, where)
    made, _ = _upgrade(document, Faults(file=where, lines=lines), None)
    return _moved(Faults(file=where, lines=lines), made.edits if made else ())


def _moved(faults: Faults, edits: tuple[Edit, ...]) -> Faults:
    return replace(faults, moved=lambda path: origin(path, edits))


_AS_IT_IS: Final = Upgrade(edition=NEWEST, edits=(), assumed=(), lacks_license=False)


def _upgrade(
    document: Mapping[str, object], faults: Faults, license_hint: LicenseHint | None
) -> tuple[Upgrade | None, Mapping[str, object]]:
    """Return what makes edition 5 of the document, and that; ``None`` for an unknown edition."""
    general = document.get("general")
    if not isinstance(general, dict):
        return _AS_IT_IS, document  # reported as a missing or wrong table
    if "edition" not in general:
        return upgrade(document, faults, license_hint)
    edition = general["edition"]
    if edition == NEWEST and not isinstance(edition, bool):
        return _AS_IT_IS, document
    is_newer = isinstance(edition, int) and edition > NEWEST
    hint = (
        "upgrade kernelmill"
        if is_newer
        else f"write edition = {NEWEST}, or remove the key: older editions have none"
    )
    problem = f"edition {edition!r} is not supported: a file can name {NEWEST} only"
    faults.add(("general", "edition"), problem, hint)
    return None, document


def _load(content: str, where: str) -> tuple[Mapping[str, object], Mapping[KeyPath, int]]:
    try:
        return tomllib.loads(content), key_lines(content)
    except (ValueError, RecursionError) as error:
        fault = _syntax_fault(str(error), content, where)
        raise ManifestError(
            fault.problem, where=fault.where, hint=fault.hint, faults=(fault,)
        ) from error


def _syntax_fault(message: str, content: str, where: str) -> InputError:
    """Turn tomllib's text, which ends in the place, into an error with a place."""
    at = _AT_LINE.search(message)
    line = (at and at["line"]) or str(len(content.splitlines()) or 1)
    reason = message[: at.start()] if at else message
    if twice := _TWICE.match(reason):
        return InputError(
            f"kernel {twice['name']!r} is declared twice",
            where=f"{where}:{line}",
            hint="give each kernel a name of its own",
        )
    return InputError(
        f"not valid TOML: {reason}", where=f"{where}:{line}", hint="see https://toml.io for syntax"
    )


def dumps(manifest: Manifest) -> str:
    """Write edition 5 in a fixed order of tables and keys; defaults are left out."""
    general = manifest.general
    tables = [("general", {"edition": manifest.edition} | _keys(general, skip=_GENERAL_TABLES))]
    for name in _GENERAL_TABLES:
        part: HubTarget | CudaGeneral | BackendGeneral | None = getattr(general, name)
        if part is not None and (name != "hub" or part != HubTarget()):
            tables.append((f"general.{name}", _keys(part)))
    tables.append(_framework_table(manifest.framework))
    tables += ((f"kernel.{it.name}", _keys(it, skip=("name",))) for it in manifest.kernels)
    return "\n".join(_table_text(name, keys) for name, keys in tables)


_GENERAL_TABLES: Final = ("hub", "cuda", "neuron", "tpu", "xpu")
_MAY_BE_EMPTY: Final = frozenset({"depends"})  # required, yet a kernel may depend on nothing


def _framework_table(framework: Framework) -> tuple[str, dict[str, object]]:
    match framework:
        case Torch():
            return "torch", _keys(framework)
        case TvmFfi():
            return "tvm-ffi", _keys(framework)
        case TorchNoarch():
            # Upstream wrote these two keys with underscores, and now they are a format.
            return "torch-noarch", {
                key.replace("-", "_"): value for key, value in _keys(framework).items()
            }
        case _:
            assert_never(framework)


def _keys(part: DataclassInstance, skip: tuple[str, ...] = ()) -> dict[str, object]:
    values = ((it.name, getattr(part, it.name)) for it in fields(part) if it.name not in skip)
    return {
        name.replace("_", "-"): value
        for name, value in values
        if name in _MAY_BE_EMPTY or value not in (None, (), {})
    }


def _table_text(name: str, keys: Mapping[str, object]) -> str:
    lines = [f"{key} = {_value_text(value)}" for key, value in keys.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def _value_text(value: object) -> str:
    match value:
        case (int(major), int(minor)):
            return f'"{major}.{minor}"'
        case tuple():
            return f"[{', '.join(map(_value_text, value))}]"
        case dict():
            items = (f"{key} = {_value_text(it)}" for key, it in sorted(value.items()))
            return f"{{ {', '.join(items)} }}"
        case KernelDependency():
            return _value_text(_keys(value))
        case int():
            return str(value)
        case _:
            # JSON's escapes are TOML's too, but for DEL, which TOML wants escaped.
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")

"""``build.toml``: how an author describes a kernel. Reads and writes edition 5."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields
from typing import TYPE_CHECKING, Final, assert_never

from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.editions import v5
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
from kernelmill.spec.errors import InputError, ManifestError
from kernelmill.spec.reader import Faults, Place, Table
from kernelmill.spec.toml_lines import KeyPath, key_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import DataclassInstance

__all__ = [
    "BackendGeneral",
    "CudaGeneral",
    "Framework",
    "General",
    "HubTarget",
    "Kernel",
    "Manifest",
    "Torch",
    "TorchNoarch",
    "TvmFfi",
    "dumps",
    "parse",
]

_AT_LINE: Final = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_TWICE: Final = re.compile(r"Cannot declare \('kernel', '(?P<name>.*)'\) twice")


def parse(content: str, *, where: str = "build.toml") -> Manifest:
    """Read ``build.toml``.

    Args:
        content: the file's text.
        where: its name, for errors.

    Raises:
        ManifestError: ``faults`` has every mistake, in the file's order, each with its line.
    """
    document, lines = _load(content, where)
    faults = Faults(file=where, lines=lines)
    root = Table(document, Place(path=(), faults=faults))
    _check_edition(document, faults)
    manifest = v5.read(root) if not faults.found else None
    if manifest is None or faults.found:
        count = len(faults.found)
        problem = f"{count} mistake{'s' if count > 1 else ''} in {where}"
        raise ManifestError(problem, where=where, faults=faults.found)
    return manifest


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


def _check_edition(document: Mapping[str, object], faults: Faults) -> None:
    general = document.get("general")
    if not isinstance(general, dict):
        return  # reported as a missing or wrong table
    edition = general.get("edition")
    if edition is None:
        guess = _guess_edition(document, general)
        problem = f"missing key 'edition': this looks like edition {guess}, and only 5 is read"
        hint = "add edition = 5 and rewrite the file to its keys: see docs/manifest.md"
        faults.add(("general",), problem, hint)
    elif edition != v5.EDITION or isinstance(edition, bool):
        newer = isinstance(edition, int) and edition > v5.EDITION
        hint = "upgrade kernelmill" if newer else "write edition = 5 and use its keys"
        problem = f"edition {edition!r} is not supported, only {v5.EDITION} is read"
        faults.add(("general", "edition"), problem, hint)


def _guess_edition(document: Mapping[str, object], general: Mapping[str, object]) -> str:
    """Name the edition that a file without one was written for, by the keys it uses."""
    kernels = document.get("kernel")
    tables = kernels.values() if isinstance(kernels, dict) else ()
    if "backends" in general:
        return "5" if "kernel-depends" in general else "3 or 4"
    if any(isinstance(it, dict) and "backend" in it for it in tables):
        return "2"
    return "1"


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

"""``sdk.json``: what an SDK is, what it was made from, and the hash of its tree."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import SdkError
from kernelmill.spec.errors import KernelError
from kernelmill.spec.reader import Faults, Place, Table, each, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT_VERSION: Final = 1
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*-[0-9][A-Za-z0-9.+]*")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SdkInput:
    """A file that an SDK was made from."""

    name: str
    """Of the package, or of the library of this machine."""
    version: str
    file: str
    """The file's name, without a folder."""
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkRecord:
    """One SDK, described."""

    kind: str
    """The recipe: ``torch``, ``cuda``, ``abi-stubs``."""
    version: str
    platform: str
    """For what it holds libraries: ``x86_64-linux``."""
    inputs: tuple[SdkInput, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    """What builds need to know and would have to guess from the tree."""
    nar_sha256: str
    """Of ``tree/``, as ``nix hash path`` prints it in base 16."""

    @property
    def name(self) -> str:
        """What the SDK is called, and its folder in the store."""
        return f"{self.kind}-{self.version}"


def parse(content: str, *, where: str) -> SdkRecord:
    """Read ``sdk.json``.

    Raises:
        SdkError: it is damaged; names the place and what is wrong.
    """
    try:
        raw = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"not valid JSON: {error}", where) from error
    faults = Faults(file=where, lines={})
    root = table(raw, Place(path=(), faults=faults)) if isinstance(raw, dict) else None
    if root is None or raw.get("version") != FORMAT_VERSION:
        raise _damaged(f"not an SDK's description of version {FORMAT_VERSION}", where)
    try:
        record = _read(root)
    except KernelError as error:
        raise _damaged(error.problem, error.where) from error
    if faults.found:
        raise _damaged(faults.found[0].problem, faults.found[0].where)
    return record


def dumps(record: SdkRecord) -> str:
    """Write ``sdk.json``: sorted, two spaces, one newline at the end."""
    document = {
        "version": FORMAT_VERSION,
        "kind": record.kind,
        "release": record.version,
        "platform": record.platform,
        "inputs": [
            {"name": it.name, "version": it.version, "file": it.file, "sha256": it.sha256}
            for it in sorted(record.inputs)
        ],
        "facts": dict(sorted(record.facts.items())),
        "nar-sha256": record.nar_sha256,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _read(root: Table) -> SdkRecord:
    record = SdkRecord(
        kind=root.required("kind", text, stand_in=""),
        version=root.required("release", text, stand_in=""),
        platform=root.required("platform", text, stand_in=""),
        inputs=root.required("inputs", each(_input), stand_in=()),
        facts=root.required("facts", _texts, stand_in={}),
        nar_sha256=root.required("nar-sha256", _sha256, stand_in=""),
    )
    if not root.place.faults.found and not _NAME.fullmatch(record.name):
        root.place.faults.add((), f"{record.name!r} is not the name of an SDK")
    return record


def _input(value: object, place: Place) -> SdkInput:
    item = table(value, place)
    return SdkInput(
        name=item.required("name", text, stand_in=""),
        version=item.required("version", text, stand_in=""),
        file=item.required("file", text, stand_in=""),
        sha256=item.required("sha256", _sha256, stand_in=""),
    )


def _texts(value: object, place: Place) -> dict[str, str]:
    item = table(value, place)
    return {key: item.required(key, text, stand_in="") for key in sorted(item)}


def _sha256(value: object, place: Place) -> str:
    digits = text(value, place)
    if not _SHA256.fullmatch(digits):
        raise place.fail(f"{digits!r} is not a SHA-256", "")
    return digits


def _damaged(problem: str, where: str) -> SdkError:
    return SdkError(problem, where=where, hint="remove the SDK's folder and fetch it again")

"""``build.lock`` as text: JSON, sorted, without addresses and without paths of any machine."""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING, Final

from kernelmill.builder.locking.errors import BuildLockError
from kernelmill.builder.sdk import format as sdk_format
from kernelmill.spec.errors import KernelError
from kernelmill.spec.reader import Faults, Place, Table, each, table, text, unique_keys
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.sdk.format import SdkRecord

LOCK_NAME: Final = "build.lock"
FORMAT_VERSION: Final = 1
_HINT: Final = "write it again with `kernel-builder lock`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Which SDKs each variant is built of."""

    sdks: Mapping[str, SdkRecord] = field(default_factory=dict)
    """Name -> what it is, file by file."""
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variant -> names of its SDKs."""

    def sdks_of(self, variant: str) -> tuple[SdkRecord, ...]:
        """Return what ``variant`` is built of.

        Raises:
            BuildLockError: it is not locked.
        """
        if variant not in self.variants:
            raise BuildLockError(
                f"{variant} is not locked",
                where=LOCK_NAME,
                hint=f"kernel-builder lock --variant {variant}",
            )
        return tuple(self.sdks[name] for name in self.variants[variant])


def parse(content: str, *, where: str) -> Lock:
    """Read ``build.lock``.

    Raises:
        BuildLockError: it is damaged; names the place and what is wrong.
    """
    try:
        raw = json.loads(content, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise BuildLockError(f"not valid JSON: {error}", where=where, hint=_HINT) from error
    if not isinstance(raw, dict) or raw.get("version") != FORMAT_VERSION:
        raise BuildLockError(
            f"not a lock of version {FORMAT_VERSION}",
            where=where,
            hint="use the kernelmill that wrote it, or write it again with `kernel-builder lock`",
        )
    faults = Faults(file=where, lines={})
    try:
        lock = _read(table(raw, Place(path=(), faults=faults)))
    except KernelError as error:
        raise BuildLockError(error.problem, where=error.where, hint=_HINT) from error
    if faults.found:
        raise BuildLockError(faults.found[0].problem, where=faults.found[0].where, hint=_HINT)
    return lock


def _read(root: Table) -> Lock:
    sdks = root.required("sdks", table, stand_in=Table({}, root.place))
    variants = root.required("variants", table, stand_in=Table({}, root.place))
    read = {name: sdks.required(name, _sdk, stand_in=None) for name in sorted(sdks)}
    lock = Lock(
        sdks={name: record for name, record in read.items() if record},
        variants={
            name: variants.required(name, each(text), stand_in=()) for name in sorted(variants)
        },
    )
    for variant, names in lock.variants.items():
        for name in names:
            if name not in lock.sdks or lock.sdks[name].name != name:
                root.place.faults.add(("variants", variant), f"{name!r} is not described")
    return lock


def _sdk(value: object, place: Place) -> SdkRecord | None:
    return sdk_format.parse(json.dumps(value), where=str(place))


def dumps(lock: Lock) -> str:
    """Write ``build.lock``: fixed order, two spaces, one newline at the end."""
    document = {
        "version": FORMAT_VERSION,
        "variants": {name: sorted(sdks) for name, sdks in sorted(lock.variants.items())},
        "sdks": {
            name: json.loads(sdk_format.dumps(record)) for name, record in sorted(lock.sdks.items())
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

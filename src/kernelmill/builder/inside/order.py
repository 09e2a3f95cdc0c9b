"""``job.json``: what a hermetic build is told. The same for our sandbox and for Nix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk import format as sdk_format
from kernelmill.spec.metadata import SourceState
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from kernelmill.builder.sdk.format import SdkRecord
    from kernelmill.spec.metadata import Isolation

VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to build, of what."""

    variant: str
    sdks: tuple[SdkRecord, ...]
    """Each has its tree in ``/sdk/NAME/tree``."""
    lock_sha256: str
    """Of ``build.lock``."""
    source: SourceState | None = None
    """The commit of the sources; None outside git."""
    isolation: Isolation = "sandbox"


def parse(content: str, *, where: str) -> Order:
    """Read ``job.json``, which programs write.

    Raises:
        SdkError: it is not one that this version can follow.
    """
    try:
        return _read(json.loads(content), where)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise SdkError(
            f"not a job that this version can follow: {error!r}",
            where=where,
            hint="start it with the kernelmill that wrote it",
        ) from error


def _read(document: Any, where: str) -> Order:  # noqa: ANN401 - programs write it, and one reads it
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']}")
    source = document.get("source")
    return Order(
        variant=document["variant"],
        sdks=tuple(
            sdk_format.parse(json.dumps(it), where=f"{where} {name}")
            for name, it in sorted(document["sdks"].items())
        ),
        lock_sha256=document["lock-sha256"],
        source=SourceState(commit=source["commit"], is_dirty=source["dirty"]) if source else None,
        isolation=document.get("isolation", "sandbox"),
    )


def dumps(order: Order) -> str:
    """Write ``job.json``: sorted, one newline at the end."""
    source = order.source
    document = {
        "version": VERSION,
        "variant": order.variant,
        "lock-sha256": order.lock_sha256,
        "isolation": order.isolation,
        "source": {"commit": source.commit, "dirty": source.is_dirty} if source else None,
        "sdks": {it.name: json.loads(sdk_format.dumps(it)) for it in order.sdks},
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

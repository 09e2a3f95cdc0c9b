"""What runs in each layer of a model, from where, and why."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a kernel in use comes from."""

    repository: str
    """As it was registered."""
    repo_id: str | None = None
    """On the Hub; None for a folder, or for what is no kernel of ours."""
    revision: str | None = None
    """The commit."""
    version: int | None = None
    variant: str | None = None
    layer: str = ""
    """The kernel's class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided about one layer.

    It stays with the layer, and with deep copies of it. A pickle leaves it out, as it leaves the
    kernel out: what is read from a file names no code of a kernel.
    """

    path: str
    """The layer's name in the model; of a function, the name of a layer that calls it."""
    layer_name: str
    class_name: str
    origin: Origin | None = None
    """None where the layer's own ``forward`` runs."""
    mode: str = ""
    """What the model was kernelized for."""
    registered_for: str = ""
    """The mode that the kernel is registered for."""
    device: str = ""
    reason: str = ""
    """Why the layer's own ``forward`` runs."""
    is_wished: bool = False
    """Whether somebody asked for that: a condition, or a switch."""
    note: str = ""
    """What is worth a warning although the kernel runs."""
    function: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    """The kernel's ``forward``."""

    def __deepcopy__(self, _: object) -> Decision:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return type(None), ()

    def as_json(self) -> dict[str, object]:
        """Return the decision in JSON's types."""
        return {
            "path": self.path,
            "layer_name": self.layer_name,
            "class": self.class_name,
            "runs": "kernel" if self.origin else "original",
            "origin": asdict(self.origin) if self.origin else None,
            "mode": self.mode or None,
            "registered_for": self.registered_for or None,
            "device": self.device or None,
            "reason": self.reason or None,
            "note": self.note or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What runs in every replaceable layer of a model."""

    layers: tuple[Decision, ...]

    @property
    def total(self) -> int:
        """How many layers could be replaced."""
        return len(self.layers)

    @property
    def replaced(self) -> int:
        """How many run a kernel."""
        return sum(it.origin is not None for it in self.layers)

    @property
    def summary(self) -> str:
        """One line with the counts."""
        return f"{self.replaced} of {self.total} layers replaced"

    def as_json(self) -> dict[str, object]:
        """Return the report in JSON's types."""
        return {
            "version": 1,
            "replaced": self.replaced,
            "total": self.total,
            "layers": [it.as_json() for it in self.layers],
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.as_json(), indent=2)

    def to_text(self) -> str:
        """Return the report as lines to read: the counts, then each layer."""
        return "\n".join([self.summary, *map(_line, self.layers)])

    def __str__(self) -> str:
        return self.to_text()

    def complaints(self) -> Iterator[str]:
        """Yield what is worth a warning, each thing once, with how many layers it is about."""
        kept = [it.reason for it in self.layers if not it.origin and not it.is_wished]
        notes = [it.note for it in self.layers if it.note]
        for text, count in Counter(kept + notes).items():
            yield f"{text} ({count} layers)" if count > 1 else text


def _line(decision: Decision) -> str:
    head = f"  {decision.path or '(the model)'}  {decision.layer_name}"
    if decision.origin is None:
        return f"{head}  original: {decision.reason}"
    origin = decision.origin
    facts = [
        f"version {origin.version}" if origin.version is not None else "",
        f"commit {origin.revision[:12]}" if origin.revision else "",
        origin.variant or "",
        decision.mode,
        decision.device,
    ]
    return f"{head}  kernel: {origin.repository} ({', '.join(filter(None, facts))})"


def origin_of(repository: object, kernel: type[nn.Module]) -> Origin:
    """Return where a kernel's class comes from, as far as this process knows."""
    from kernelmill.runtime.load import get_loaded_kernels  # noqa: PLC0415 - marks are cheap to import

    module_id = kernel.__module__.partition(".")[0]
    for loaded in get_loaded_kernels():
        if loaded.metadata.id == module_id:
            return Origin(
                repository=str(repository),
                repo_id=loaded.repo_info.repo_id if loaded.repo_info else None,
                revision=loaded.repo_info.revision if loaded.repo_info else None,
                version=loaded.metadata.version,
                variant=_variant(loaded.module.__file__),
                layer=kernel.__qualname__,
            )
    return Origin(repository=str(repository), layer=kernel.__qualname__)


def _variant(file: str | None) -> str | None:
    """Return the name of the build that a kernel's ``__init__.py`` is in, or below."""
    folders = Path(file).parents[:2] if file else []
    return next((it.name for it in folders if (it / "metadata.json").is_file()), None)

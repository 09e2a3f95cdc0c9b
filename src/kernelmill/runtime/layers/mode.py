"""What a model is kernelized for, and which registered modes can serve that."""

from __future__ import annotations

from enum import Flag, auto
from typing import Final

from kernelmill.runtime.layers.errors import BadMode, NotAMode


class Mode(Flag):
    """What layers are used for. In a mapping: what a kernel is good for."""

    _NONE = 0
    FALLBACK = auto()
    """In a mapping: the kernel that is used where no other mode fits. Stands alone."""
    TRAINING = auto()
    """Forward and backward."""
    INFERENCE = auto()
    """Forward only."""
    TORCH_COMPILE = auto()
    """Inside ``torch.compile``; goes with ``TRAINING`` or ``INFERENCE``."""

    def __or__(self, other: Mode) -> Mode:
        if not isinstance(other, Mode):
            return NotImplemented
        union = super().__or__(other)
        if Mode.INFERENCE in union and Mode.TRAINING in union:
            raise BadMode("Mode.INFERENCE and Mode.TRAINING are mutually exclusive.")
        if Mode.FALLBACK in union and union != Mode.FALLBACK:
            raise BadMode("Mode.FALLBACK cannot be combined with other modes.")
        return union


SERVED_BY: Final = {
    Mode.INFERENCE: (
        Mode.INFERENCE,
        Mode.INFERENCE | Mode.TORCH_COMPILE,
        Mode.TRAINING,
        Mode.TRAINING | Mode.TORCH_COMPILE,
        Mode.FALLBACK,
    ),
    Mode.TRAINING: (
        Mode.TRAINING,
        Mode.TRAINING | Mode.TORCH_COMPILE,
        Mode.FALLBACK,
    ),
    Mode.INFERENCE | Mode.TORCH_COMPILE: (
        Mode.INFERENCE | Mode.TORCH_COMPILE,
        Mode.TRAINING | Mode.TORCH_COMPILE,
        Mode.FALLBACK,
    ),
    Mode.TRAINING | Mode.TORCH_COMPILE: (
        Mode.TRAINING | Mode.TORCH_COMPILE,
        Mode.FALLBACK,
    ),
}
"""Mode asked for -> registered modes that serve it, best first.

A kernel for training also infers, and one for ``torch.compile`` also runs without; not the other
way round.
"""

LEGAL: Final = ", ".join(" | ".join(f"Mode.{one.name}" for one in mode) for mode in SERVED_BY)
HINT: Final = f"legal modes: {LEGAL}"


def parse_mode(mode: object) -> Mode:
    """Return a mode to kernelize for.

    Raises:
        NotAMode: there is none, or it is something else; a ``TypeError``.
        BadMode: it only makes sense in a mapping, or says neither inference nor training.
    """
    if mode is None:
        raise NotAMode(
            "kernelize() missing 1 required keyword-only argument: 'mode'",
            hint=HINT,
        )
    if not isinstance(mode, Mode):
        raise NotAMode(f"{mode!r} is not a mode", where="kernelize", hint=HINT)
    if mode == Mode.FALLBACK:
        raise BadMode("Mode.FALLBACK can only be used to register kernel mappings.", hint=HINT)
    if Mode.INFERENCE not in mode and Mode.TRAINING not in mode:
        raise BadMode(
            "kernelize mode must contain Mode.INFERENCE or Mode.TRAINING.",
            hint=HINT,
        )
    if mode not in SERVED_BY:
        raise BadMode(f"Unsupported mode: {mode}", hint=HINT)
    return mode

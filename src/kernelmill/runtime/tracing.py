"""Say plainly what is wrong when a kernel is loaded inside a compiled region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., object]")

REASON: Final = (
    "kernels cannot be loaded while torch.compile traces: load before compile. Call {name}() "
    "outside the compiled function, or kernelize the model before compiling it"
)


def untraceable(function: F) -> F:
    """Mark a function that torch.compile must not trace into, with what to do instead.

    NOTE: these are the attributes that ``torch.compiler.disable`` sets; setting them here does not
    import torch. A version of torch that knows other ones traces on, and fails less plainly.
    """
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    reason = REASON.format(name=getattr(function, "__name__", "this"))
    function._torchdynamo_disable_msg = reason  # type: ignore[attr-defined]
    return function

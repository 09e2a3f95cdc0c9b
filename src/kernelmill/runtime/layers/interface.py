"""Whether a kernel's class can take the place of a layer's ``forward``."""

from __future__ import annotations

import inspect
from inspect import Parameter, Signature
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.layers.errors import ModeUnsupported, NotALayer
from kernelmill.runtime.layers.mode import Mode

if TYPE_CHECKING:
    from torch import nn

FLAGS: Final = frozenset({"can_torch_compile", "has_backward"})
"""The only members that a kernel's class may add: what the kernel can do."""
NAMED: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
VARIADIC: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def ensure_replaces(kernel: type, layer: type[nn.Module], repository: object) -> str:
    """Return what is worth a warning: ways of calling the layer that the kernel does not allow.

    The kernel's ``forward`` is bound to the layer's instance. So its class may hold nothing that
    it would then look for there in vain.

    Args:
        kernel: the kernel's class.
        layer: the class whose ``forward`` it is to replace.
        repository: what to call the kernel in messages.

    Raises:
        NotALayer: it is no layer, has a state of its own, or other parameters.
    """
    from torch import nn  # noqa: PLC0415 - `import kernels` must not import torch

    if not (inspect.isclass(kernel) and issubclass(kernel, nn.Module)):
        name = getattr(kernel, "__name__", repr(kernel))
        raise NotALayer(f"Layer `{name}` is not a Torch layer.", where=str(repository))
    if kernel.__init__ is not nn.Module.__init__:
        raise NotALayer(
            f"{repository} must not override nn.Module constructor.",
            hint="its `forward` runs on the layer that it replaces, which was made without it",
        )
    if extra := sorted(set(dir(kernel)) - set(dir(nn.Module)) - FLAGS):
        raise NotALayer(
            f"{repository} must not contain additional members compared to `{layer.__name__}`.",
            hint=f"make these functions of the kernel's module: {', '.join(extra)}",
        )
    ours, theirs = inspect.signature(kernel.forward), inspect.signature(layer.forward)
    if problem := difference(ours, theirs):
        raise NotALayer(
            f"Forward signature of {repository} does not match `{layer.__name__}`: {problem}",
            hint=f"the kernel has {bare(ours)}, the layer has {bare(theirs)}",
        )
    if nuance := first_nuance(ours, theirs):
        return f"{repository} has {bare(ours)}, `{layer.__name__}` has {bare(theirs)}: {nuance}"
    return ""


def difference(kernel: Signature, layer: Signature) -> str:
    """Return why one signature cannot stand for another, from the first parameter that differs."""
    pairs = list(zip(kernel.parameters.values(), layer.parameters.values(), strict=False))
    if len(kernel.parameters) != len(layer.parameters):
        rows = zip_longest(bare(kernel).parameters.values(), bare(layer).parameters.values())
        mine, theirs = next((a, b) for a, b in rows if not (a and b and a.name == b.name))
        where = f"`{mine}` in place of `{theirs}`" if mine and theirs else ""
        where = where or f"`{mine or theirs}` is only in the {'kernel' if mine else 'layer'}"
        return f"different number of arguments. First difference: {where}"
    for mine, theirs in pairs:
        if mine.kind != theirs.kind:
            return (
                f"different kind of arguments ({mine} ({mine.kind}) and {theirs} ({theirs.kind}))"
            )
    return ""


def bare(signature: Signature) -> Signature:
    """Return a signature without its types, which play no part here."""
    parameters = signature.parameters.values()
    return Signature([it.replace(annotation=Parameter.empty) for it in parameters])


def first_nuance(kernel: Signature, layer: Signature) -> str:
    """Return the first call that the layer allows and the kernel does not; empty for none.

    Hugging Face's package accepts these, and kernels in the wild have them.
    """
    pairs = zip(kernel.parameters.values(), layer.parameters.values(), strict=True)
    for mine, theirs in list(pairs)[1:]:
        if mine.name != theirs.name and mine.kind in NAMED:
            return f"`{mine.name}` in place of `{theirs.name}`, so calls by name fail"
        loses_default = mine.default is Parameter.empty is not theirs.default
        if loses_default and mine.kind not in VARIADIC:
            return f"`{mine.name}` has no default, so calls that leave it out fail"
    return ""


def ensure_keeps_promise(
    kernel: type[nn.Module], registered_for: Mode, *, layer_name: str, repository: object
) -> None:
    """Stop when a kernel is registered for what it says that it cannot do.

    Raises:
        ModeUnsupported: so it is.
    """
    for lacking, what in _lacks(kernel, registered_for):
        raise ModeUnsupported(
            f"Function/layer from repo {repository} does not support {what}.\n"
            f"Was registered for `{layer_name}` with mode `{registered_for}`",
            hint=f"the kernel says so with {lacking}; register it for another mode",
        )


def lacks(kernel: type[nn.Module], mode: Mode) -> str:
    """Return what a kernel cannot do of what a mode needs; empty when it can do all."""
    return ", ".join(what for _, what in _lacks(kernel, mode))


def _lacks(kernel: type[nn.Module], mode: Mode) -> list[tuple[str, str]]:
    found = []
    if Mode.TRAINING in mode and not getattr(kernel, "has_backward", True):
        found.append(("has_backward = False", "backward"))
    if Mode.TORCH_COMPILE in mode and not getattr(kernel, "can_torch_compile", False):
        found.append(("no can_torch_compile = True", "torch.compile"))
    return found

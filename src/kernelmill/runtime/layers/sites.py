"""The places in a model where a kernel can run, and what was decided about each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MethodType
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.layers.extension import kernel_functions, layer_name_of
from kernelmill.runtime.layers.report import Decision, Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

DECISION: Final = "_kernel_decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A module whose ``forward`` can be replaced."""

    path: str
    module: nn.Module
    layer_name: str
    owner: nn.Module
    """The module itself; of a function, a module that calls it."""


def find_sites(model: nn.Module) -> Iterator[Site]:
    """Yield every replaceable module, and every function that one calls, once."""
    seen = set[int]()
    for path, module in model.named_modules():
        functions = kernel_functions(type(module)).values()
        for candidate in (*functions, module):
            name = layer_name_of(type(candidate))
            if name is not None and id(candidate) not in seen:
                seen.add(id(candidate))
                yield Site(path=path, module=candidate, layer_name=name, owner=module)


def apply(decision: Decision, module: nn.Module) -> None:
    """Make a module run what was decided.

    Its parameters, submodules and state dict stay what they are. Where its own ``forward`` is to
    run and a kernel's was there, that is taken away; a ``forward`` that somebody else put there
    stays.
    """
    # NOTE: into __dict__, for a compiled module hands attributes on to the one that it wraps.
    members = module.__dict__
    if decision.function is not None:
        members["forward"] = MethodType(decision.function, module)
    elif runs_kernel(module):
        del members["forward"]
    members[DECISION] = decision


def runs_kernel(module: nn.Module) -> bool:
    """Tell whether the kernel that was decided on is what a module runs."""
    decision = module.__dict__.get(DECISION)
    forward = module.__dict__.get("forward")
    return (
        isinstance(decision, Decision)
        and decision.function is not None
        and getattr(forward, "__func__", None) is decision.function
    )


def explain(model: nn.Module) -> Report:
    """Return what runs in every replaceable layer of a model, from where, and why.

    Looks at the model as it is: copies, and models read from a file, are reported for themselves.
    """
    return Report(layers=tuple(_found(site) for site in find_sites(model)))


def _found(site: Site) -> Decision:
    decision = site.module.__dict__.get(DECISION)
    if isinstance(decision, Decision) and (decision.origin is None or runs_kernel(site.module)):
        return replace(decision, path=site.path)
    lost = isinstance(decision, Decision)
    return Decision(
        path=site.path,
        layer_name=site.layer_name,
        class_name=type(site.module).__name__,
        reason="its forward was replaced after kernelize" if lost else "not kernelized",
    )

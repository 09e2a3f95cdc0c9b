"""The marks that make layers and functions replaceable. Cheap: libraries use them at import."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from kernelmill.runtime.layers.errors import CannotDecorate, NotALayer, NotExtensible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torch import nn

    Condition = Callable[[nn.Module], bool]

log = logging.getLogger(__name__)

T = TypeVar("T", bound=type)
F = TypeVar("F", bound="Callable[..., Any]")

LAYER_NAME = "kernel_layer_name"
FUNCTIONS = "_kernel_funcs"


def replace_kernel_forward_from_hub(
    cls: type, layer_name: str, condition: Condition | None = None
) -> None:
    """Make a class replaceable that is not one's own. Prefer ``use_kernel_forward_from_hub``.

    Args:
        cls: a class of layers.
        layer_name: what mappings call it.
        condition: asked for every instance; where it says no, that instance is left alone.
    """
    setattr(cls, LAYER_NAME, layer_name)
    # Static, since it gets the module as its only argument.
    cls.kernel_condition = staticmethod(condition or _always)  # type: ignore[attr-defined]


def use_kernel_forward_from_hub(
    layer_name: str, condition: Condition | None = None
) -> Callable[[F], F]:
    """Return a decorator that makes a class of layers, or a function, replaceable.

     A function becomes a module that is called in the same way; a type checker sees a function.
    ``kernelize`` finds it through
     ``use_kernelized_func``.

    Args:
         layer_name: what mappings call it.
         condition: asked for every instance; where it says no, that instance is left alone.
    """

    def decorate(thing: Any) -> Any:  # noqa: ANN401 - a class gives itself, a function a module
        if inspect.isclass(thing):
            replace_kernel_forward_from_hub(thing, layer_name, condition)
            return thing
        if not inspect.isfunction(thing):
            raise CannotDecorate(
                "@use_kernel_forward_from_hub can only be applied to classes or functions",
                where=repr(thing),
            )
        layer = make_function_layer(thing)
        replace_kernel_forward_from_hub(layer, layer_name, condition)
        return _instance(layer, thing)

    return decorate


def use_kernel_func_from_hub(func_name: str) -> Callable[[F], F]:
    """Return a decorator for functions. Prefer ``use_kernel_forward_from_hub``."""
    log.warning(
        "use_kernel_func_from_hub is deprecated and will be removed in kernels 0.17. "
        "Use [`use_kernel_forward_from_hub`] instead.",
        stacklevel=2,
    )
    return use_kernel_forward_from_hub(func_name)


def use_kernelized_func(*functions: Any) -> Callable[[T], T]:  # noqa: ANN401 - modules that look like functions
    """Return a class decorator that tells ``kernelize`` which functions the class calls.

    They do not become submodules: the tree of modules, the parameters and the state dict of the
    class stay what they are. They are kept on the class, so copies and pickles have them, too.

    Raises:
        NotExtensible: one was not decorated with ``use_kernel_forward_from_hub``.
    """
    for function in functions:
        if not hasattr(function, LAYER_NAME):
            name = getattr(function, "__name__", repr(function))
            raise NotExtensible(
                f"Function `{name}` is not decorated with @use_kernel_forward_from_hub "
                "and cannot be used with @use_kernelized_func"
            )

    def decorate(cls: T) -> T:
        known = dict(kernel_functions(cls))
        for function in functions:
            known[_key(function, known)] = function
        setattr(cls, FUNCTIONS, known)
        return cls

    return decorate


def kernel_functions(cls: type) -> Mapping[str, nn.Module]:
    """Return the functions that a class calls: name -> module.

    Only the class is asked: what an instance holds may be data.
    """
    found: Mapping[str, nn.Module] = getattr(cls, FUNCTIONS, None) or {}
    return found


def layer_name_of(cls: type) -> str | None:
    """Return what mappings call a class; None where it is not replaceable.

    Only the class is asked: what an instance holds may be data.
    """
    name = getattr(cls, LAYER_NAME, None)
    return None if name is None else str(name)


def is_wanted(module: nn.Module) -> bool:
    """Tell whether the condition that a class was marked with holds for one of its modules."""
    condition = getattr(type(module), "kernel_condition", None)
    return condition is None or bool(condition(module))


def make_function_layer(function: Callable[..., Any]) -> type[nn.Module]:
    """Return a class of modules whose ``forward`` is ``function``.

    Raises:
        NotALayer: nothing says what arguments the function takes.
    """
    from torch import nn  # noqa: PLC0415 - `import kernels` must not import torch

    class Func(nn.Module):
        can_torch_compile = getattr(function, "can_torch_compile", False)
        has_backward = getattr(function, "has_backward", True)

        def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own
            return function(*args, **kwargs)

    try:
        signature = inspect.signature(function)
    except ValueError as error:
        raise NotALayer(
            f"{function!r} has no signature that Python can read",
            hint="call it from a function that is written in Python",
        ) from error
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    Func.forward.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[this, *signature.parameters.values()]
    )
    Func.__module__ = getattr(function, "__module__", None) or __name__
    return Func


def _instance(layer: type[nn.Module], function: Callable[..., Any]) -> nn.Module:
    """Return the module that stands in a function's place: its name finds it, as with functions.

    So a copy of it is itself, and a pickle holds only the name.
    """
    layer.__reduce__ = lambda _: function.__qualname__  # type: ignore[method-assign,assignment]
    module = layer()
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        object.__setattr__(module, name, getattr(function, name))
    object.__setattr__(module, "__signature__", inspect.signature(function))
    return module


def _key(function: object, known: Mapping[str, object]) -> str:
    """Return the layer's name, or the function's where another function has the same."""
    name = str(getattr(function, LAYER_NAME))
    if known.get(name, function) is function:
        return name
    names: Iterator[str] = (f"{name} {number}" for number in range(2, len(known) + 3))
    return next(each for each in names if known.get(each, function) is function)


def _always(_: nn.Module) -> bool:
    return True

"""The calls of this process that were answered before, for as long as their answers hold.

A call is known by its arguments and by the part of the environment that decides what it loads. It
is kept when it names a version or a revision, a Hub had a say in it, and no signature is required.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from typing import TYPE_CHECKING, Final, ParamSpec

from kernelmill.runtime.hub.expiry import watch_expiry
from kernelmill.runtime.settings import DECIDING_VARIABLES
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from types import ModuleType

P = ParamSpec("P")

MAX_CALLS: Final = 1000
UNUSED: Final = frozenset({"user_agent"})
"""Arguments that change nothing about what is loaded."""

STRICT: Final = DECIDING_VARIABLES.index("KERNELS_STRICT")
SIGNATURES: Final = tuple(
    DECIDING_VARIABLES.index(name)
    for name in ("KERNELS_REQUIRE_SIGNATURE", "KERNELS_TRUSTED_KEYS", "KERNELS_TRUSTED_WORKFLOWS")
)
"""Each of them requires a signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What a call returned."""

    module: ModuleType
    until: float
    """Seconds since 1970."""


_kept: dict[Hashable, _Kept] = {}


def memoized(function: Callable[P, ModuleType]) -> Callable[P, ModuleType]:
    """Give a function that loads kernels a memory. ``KERNELS_STRICT`` switches it off."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> ModuleType:
        key = _key_of(args, kwargs)
        if key is None:
            return function(*args, **kwargs)
        try:
            kept = _kept.get(key)
        except TypeError:  # a list in the place of a name: the function says so
            return function(*args, **kwargs)
        if kept and time.time() < kept.until and _is_loaded(kept.module):
            return kept.module
        with watch_expiry() as noted:
            module = function(*args, **kwargs)
        if noted and time.time() < min(noted):
            if len(_kept) >= MAX_CALLS:
                _kept.clear()
            _kept[key] = _Kept(module=module, until=min(noted))
        return module

    return call


def _is_loaded(module: ModuleType) -> bool:
    return sys.modules.get(module.__name__) is module


def _key_of(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Hashable | None:
    """Return what decides the result of a call; None for a call that is not to be kept."""
    if kwargs.get("version") is None and kwargs.get("revision") is None:
        return None
    get = os.environ.get
    environment = tuple([get(name) for name in DECIDING_VARIABLES])
    if environment[STRICT] or any(environment[each] for each in SIGNATURES):
        return None  # what is signed is asked each time: a key may be taken away from its folder
    arguments = []
    for name, value in kwargs.items():
        if name in UNUSED:
            continue
        if isinstance(value, list | tuple | set | frozenset):
            value = frozenset(map(str, value))  # noqa: PLW2901 - the same, as a key
        elif not isinstance(value, str | int | None):
            return None  # such as a generator, which reading would use up
        # The type tells True from 1.
        arguments.append((name, type(value), value))
    constants = sys.modules.get("huggingface_hub.constants")
    is_offline = getattr(constants, "HF_HUB_OFFLINE", False)
    ordered = tuple(sorted(arguments, key=lambda each: each[0]))
    return (args, ordered, environment, _here(), is_offline)


def _here() -> str:
    """Return the folder that relative paths in the environment start from."""
    try:
        return os.getcwd()  # noqa: PTH109 - quick
    except FileNotFoundError:  # somebody removed it
        return ""

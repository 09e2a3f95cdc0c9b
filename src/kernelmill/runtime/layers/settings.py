"""The switches of kernelizing: environment, context, argument. The nearest one decides."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.layers.fallback import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DISABLE: Final = "DISABLE_KERNEL_MAPPING"
POLICY: Final = "KERNELS_POLICY"
FALSE_TEXTS: Final = frozenset({"", "0", "off", "no", "false"})

_are_off: ContextVar[bool] = ContextVar("kernels_are_off", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """Whether kernels are used, and what is said where they are not."""

    off_because: str
    """Why no kernel is used; empty where they are."""
    policy: Policy | None
    """None: ``use_fallback`` decides what raises, and the rest is warned of."""


def read_switches(
    *,
    policy: str | None = None,
    enabled: bool | None = None,
    environ: Mapping[str, str] | None = None,
) -> Switches:
    """Return the switches that hold now.

    Args:
        policy: the call's own, before that of the environment.
        enabled: the call's own, before the context's and that of the environment.
        environ: the environment; that of the process by default.
    """
    env = os.environ if environ is None else environ
    text, where = (env.get(POLICY), POLICY) if policy is None else (policy, "policy")
    return Switches(
        off_because=_off_because(env, enabled=enabled),
        policy=Policy.parse(text, where=where) if text else None,
    )


@contextmanager
def without_kernels() -> Iterator[None]:
    """Make ``kernelize`` leave every layer its own ``forward``, and load nothing, meanwhile."""
    token = _are_off.set(True)
    try:
        yield
    finally:
        _are_off.reset(token)


def _off_because(env: Mapping[str, str], *, enabled: bool | None) -> str:
    if enabled is not None:
        return "" if enabled else "kernelize was called with enabled=False"
    if _are_off.get():
        return "kernelize was called inside without_kernels()"
    text = env.get(DISABLE, "")
    return "" if text.strip().lower() in FALSE_TEXTS else f"{DISABLE} is {text}"

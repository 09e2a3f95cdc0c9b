"""What ``get_kernel`` gave in this process, so that the same call is answered at once.

An answer holds for the arguments that were given and the environment that they were given in. It
is not renewed while the process lives: a program that asks twice gets the same code twice.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelmill.runtime.settings import read_deciding_variables

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import ModuleType


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A loaded kernel, and what its caller should change in the call."""

    module: ModuleType
    advice: str


_answers: dict[Hashable, Answer] = {}


def key_of(trust_remote_code: object, *arguments: Hashable) -> Hashable | None:
    """Return what an answer is remembered under; None where nothing can be.

    Values that are equal but not alike, such as True and 1, are two keys: one may be an error.
    """
    if isinstance(trust_remote_code, list | tuple | set | frozenset):
        trust_remote_code = frozenset(map(str, trust_remote_code))
    elif not isinstance(trust_remote_code, bool):
        return None  # an iterator can be read once; anything else is refused elsewhere
    values = (trust_remote_code, *arguments)
    key = (values, tuple(map(type, values)), read_deciding_variables())
    try:
        hash(key)
    except TypeError:
        return None
    return key


def recall(key: Hashable | None) -> Answer | None:
    """Return what was answered before, unless the kernel was unloaded since."""
    answer = _answers.get(key)
    if answer is None or sys.modules.get(answer.module.__name__) is not answer.module:
        return None
    return answer


def remember(key: Hashable | None, answer: Answer) -> None:
    """Keep an answer for the next call."""
    if key is not None:
        _answers[key] = answer

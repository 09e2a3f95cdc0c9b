"""Whether a kernel's operators can be compiled and traced: fake implementations and mutation (Y14).

Pure verdicts over facts, which come from the sources (`check.op_sources`) or from a loaded build
(`toolchain.operators`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.check import Finding
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OWN_NAMESPACE: Final = "TORCH_EXTENSION_NAME"
_SCHEMA: Final = re.compile(
    r"\s*(?:\w+::)?(?P<name>[\w.]+)\s*\((?P<args>.*)\)\s*->(?P<returns>.*)", re.S
)
_BRACKETS: Final = {"(": 1, "[": 1, ")": -1, "]": -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator that a kernel defines."""

    name: str
    """Without its namespace."""
    schema: str
    """Empty when PyTorch infers it from the C++ function."""
    has_fake: bool
    where: str = ""
    """File and line; empty for an operator of a loaded build."""
    written: tuple[str, ...] = ()
    """Tensor parameters that the C++ function takes by reference, and not as const."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A block of registrations."""

    namespace: str
    """As written in the source."""
    where: str


def check_operators(operators: Iterable[Operator]) -> tuple[Finding, ...]:
    """Find operators without a fake implementation and those that write in secret."""
    return tuple(
        Finding(problem=f"{_place(it)}operator {it.name}: {problem}", hint=hint)
        for it in operators
        for problem, hint in _problems(it)
    )


def check_registrations(blocks: Iterable[Registration]) -> tuple[Finding, ...]:
    """Find operators under a fixed name: two builds of the kernel could not be loaded (L2)."""
    return tuple(
        Finding(
            problem=f"{it.where}: operators are registered under the fixed name {it.namespace!r}",
            hint=f"write {OWN_NAMESPACE}: every build has a namespace of its own",
        )
        for it in blocks
        if it.namespace != OWN_NAMESPACE
    )


def _place(operator: Operator) -> str:
    return f"{operator.where}: " if operator.where else ""


def _problems(operator: Operator) -> Iterator[tuple[str, str]]:
    arguments, returns = split_schema(operator.schema)
    mutated = {_argument_name(it) for it in arguments if "!" in it}
    returns_nothing = returns == "()"
    if returns_nothing and not mutated:
        yield (
            "it returns nothing and declares no argument as written",
            'mark what it writes in the schema: "name(Tensor! out, Tensor input) -> ()"',
        )
    for name in operator.written:
        if name not in mutated and not (returns_nothing and not mutated):
            yield (
                f"the function may write {name}, and the schema does not say so",
                f"take it as const Tensor&, or write Tensor! {name} in the schema",
            )
    # PyTorch makes one itself for an operator that only writes its arguments.
    if "Tensor" in returns and not operator.has_fake:
        yield (
            "it has no fake implementation, so torch.compile cannot trace it",
            f'@torch.library.register_fake(add_op_namespace_prefix("{operator.name}"))',
        )


def split_schema(schema: str) -> tuple[tuple[str, ...], str]:
    """Return the arguments and what is returned; nothing and ``?`` for what is no schema."""
    match = _SCHEMA.fullmatch(schema)
    if not match:
        return (), "?"
    return tuple(_split(match["args"])), match["returns"].strip()


def schema_name(schema: str) -> str:
    """Return the operator's name in a schema, or in what is only a name."""
    match = _SCHEMA.fullmatch(schema)
    return match["name"] if match else schema.strip().rpartition("::")[2]


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += _BRACKETS.get(character, 0)
        if character == "," and not depth:
            yield text[start:index].strip()
            start = index + 1
    if last := text[start:].strip():
        yield last


def _argument_name(argument: str) -> str:
    return argument.partition("=")[0].split()[-1] if argument.split() else ""

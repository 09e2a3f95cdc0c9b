"""A kernel as blocks of bound operations, decoded once and run for many waves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.emulator.arrays import Array
from kernelmill.emulator.operands import Operand, parse_modifiers, parse_operand, split_operands
from kernelmill.emulator.registers import Waves

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelmill.binary.disassembly import Instruction

Operation = Callable[[Waves], None]
Reader = Callable[[Waves], Array]
Encoding = Literal["", "e32", "e64", "dpp", "sdwa"]

_SUFFIX = re.compile(r"(?P<name>\w+?)(?:_e64(?=_))?(?:_(?P<encoding>e32|e64|dpp|sdwa))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One instruction, its text taken apart."""

    instruction: Instruction
    name: str
    """The mnemonic without the suffix for its encoding."""
    encoding: str
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, str]
    indexed: frozenset[str] = frozenset()
    """Operands whose register numbers M0 is added to (``s_set_gpr_idx_on``)."""
    fragments: tuple[int, ...] = ()
    """Of a matrix instruction: keys under which its block shares decoded operands."""

    @property
    def next_address(self) -> int:
        """Return the address of the instruction after it."""
        return self.instruction.address + self.instruction.size_bytes

    def __str__(self) -> str:
        return f"{self.instruction} at {self.instruction.address:#x}"


def decode(instruction: Instruction) -> Decoded:
    """Take an instruction's text apart."""
    match = _SUFFIX.fullmatch(instruction.mnemonic)
    name, encoding = instruction.mnemonic, ""
    if match:
        name, encoding = match["name"], match["encoding"] or ""
    operands, modifiers = split_operands(instruction.operands)
    return Decoded(
        instruction=instruction,
        name=name,
        encoding=encoding,
        operands=tuple(map(parse_operand, operands)),
        modifiers=parse_modifiers(modifiers),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What binding an instruction must know of its program."""

    accumulators: int
    """Index of a0 among the vector registers."""
    vectors: int
    """Vector registers in all."""
    image: int
    """What is added to a code object's address where it is loaded."""
    watches_mode: bool = False
    """Denormal numbers may be flushed: the MODE register has to be looked at."""


EndKind = Literal["next", "branch", "condition", "jump", "call", "barrier", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a block ends. Addresses are those of the code object."""

    kind: EndKind
    following: int
    """Address after the block."""
    target: int = 0
    """Of a branch or a call with a fixed target."""
    condition: Reader | None = None
    """Which waves take the branch: bool [wave]."""
    jump: Reader | None = None
    """Where each wave goes: uint64 [wave], host addresses."""
    link: int = -1
    """The scalar pair that takes the return address."""


@dataclass(slots=True, kw_only=True)
class Block:
    """Instructions that always run one after another."""

    address: int
    decoded: tuple[Decoded, ...]
    """The one that ends it included."""
    operations: list[Operation]
    end: End
    waves: int = 0
    """How many waves ran it, each time counted."""


BRANCHES: Final = frozenset({"s_branch", "s_call_b64", "s_cbranch_i_fork"})


def branch_target(decoded: Decoded) -> int | None:
    """Return where a branch with a fixed target goes, or ``None`` for all others."""
    if decoded.name not in BRANCHES and not decoded.name.startswith("s_cbranch_"):
        return None
    offset = int(decoded.operands[-1].value) & 0xFFFF
    offset -= (offset & 0x8000) << 1
    return decoded.next_address + 4 * offset


def find_leaders(code: Iterable[Decoded]) -> frozenset[int]:
    """Return the addresses that branches in ``code`` lead to."""
    return frozenset(target for decoded in code if (target := branch_target(decoded)) is not None)

"""Read the operands of an instruction as LLVM prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from kernelmill.emulator.errors import UnsupportedInstruction

Kind = Literal["vector", "accumulator", "scalar", "integer", "real", "special", "text"]

SCALAR_NAMES: Final = {
    "flat_scratch_lo": (102, 1),
    "flat_scratch_hi": (103, 1),
    "flat_scratch": (102, 2),
    "xnack_mask_lo": (104, 1),
    "xnack_mask_hi": (105, 1),
    "xnack_mask": (104, 2),
    "vcc_lo": (106, 1),
    "vcc_hi": (107, 1),
    "vcc": (106, 2),
    "m0": (124, 1),
    "exec_lo": (126, 1),
    "exec_hi": (127, 1),
    "exec": (126, 2),
}
TRAP_BASE: Final = 108
"""ttmp0 to ttmp15 are scalar registers 108 to 123."""
SPECIAL: Final = frozenset({
    "src_shared_base", "src_shared_limit", "src_private_base", "src_private_limit",
    "src_pops_exiting_wave_id", "src_vccz", "src_execz", "src_scc", "src_lds_direct", "off",
})  # fmt: skip

_REGISTER = re.compile(r"(?P<file>ttmp|[vas])(?:(?P<one>\d+)|\[(?P<low>\d+)(?::(?P<high>\d+))?\])")
_INTEGER = re.compile(r"-?(?:0x[0-9a-f]+|\d+)")
_REAL = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")
_FILES: Final[dict[str, Kind]] = {
    "v": "vector", "a": "accumulator", "s": "scalar", "ttmp": "scalar",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One operand."""

    kind: Kind
    text: str
    """Without modifiers."""
    index: int = 0
    """Of the first register."""
    count: int = 1
    """Registers."""
    value: float = 0
    """Of a constant; a whole number for the kind ``integer``."""
    is_negated: bool = False
    is_absolute: bool = False
    is_sign_extended: bool = False

    @property
    def is_constant(self) -> bool:
        """Say whether it is a number written in the instruction."""
        return self.kind in {"integer", "real"}


def parse_operand(text: str) -> Operand:
    """Return one operand, such as ``-|v3|``, ``s[2:3]``, ``0x40490fdb`` or ``sext(v1)``."""
    body, negated, absolute, extended = text, False, False, False
    if body.startswith("neg("):
        body, negated = body[4:-1], True
    elif body.startswith("-") and not (_INTEGER.fullmatch(body) or _REAL.fullmatch(body)):
        body, negated = body[1:], True
    if body.startswith("sext("):
        body, extended = body[5:-1], True
    if body.startswith("|"):
        body, absolute = body[1:-1], True
    elif body.startswith("abs("):
        body, absolute = body[4:-1], True
    kind, index, count, value = _classify(body)
    return Operand(
        kind=kind,
        text=body,
        index=index,
        count=count,
        value=value,
        is_negated=negated,
        is_absolute=absolute,
        is_sign_extended=extended,
    )


def _classify(body: str) -> tuple[Kind, int, int, float]:
    if match := _REGISTER.fullmatch(body):
        low = int(match["one"] or match["low"])
        count = int(match["high"]) - low + 1 if match["high"] else 1
        base = TRAP_BASE if match["file"] == "ttmp" else 0
        return _FILES[match["file"]], base + low, count, 0
    if body in SCALAR_NAMES:
        return ("scalar", *SCALAR_NAMES[body], 0)
    if _INTEGER.fullmatch(body):
        return "integer", 0, 1, int(body, 0)
    if _REAL.fullmatch(body):
        return "real", 0, 1, float(body)
    return ("special" if body in SPECIAL else "text"), 0, 1, 0


def split_operands(text: str) -> tuple[list[str], list[str]]:
    """Return the operands of an instruction and the modifiers after the last of them."""
    parts = [part.strip() for part in _split_outside(text, ",")]
    words = _split_outside(parts[-1], " ")
    modifiers = [word for word in words[1:] if word]
    # An instruction without operands may still have modifiers: ``buffer_wbl2 sc1``.
    return [part for part in [*parts[:-1], words[0]] if part], modifiers


def _split_outside(text: str, separator: str) -> list[str]:
    """Split where no bracket, parenthesis or bar is open."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif letter == separator and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def parse_modifiers(words: list[str]) -> dict[str, str]:
    """Return modifier -> value: ``offset:16`` gives ``{"offset": "16"}``, ``clamp`` no value."""
    found = {}
    for word in words:
        name, _, value = word.partition(":")
        found[name] = value
    return found


def number(text: str) -> int:
    """Return a modifier's number, decimal or hexadecimal."""
    return int(text, 0)


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of ``[1,0,1]``."""
    try:
        return tuple(int(item, 0) for item in text.strip("[]").split(","))
    except ValueError as error:
        raise UnsupportedInstruction(f"{text!r} is not a list of numbers") from error

"""Floating-point results computed with whole numbers and fractions only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True)
class Format:
    """An IEEE format."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    def round(self, value: Fraction) -> float:
        """Return the nearest number of the format, ties to even."""
        if value == 0:
            return 0.0
        size = abs(value)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        while Fraction(2) ** exponent > size:
            exponent -= 1
        while Fraction(2) ** (exponent + 1) <= size:
            exponent += 1
        place = max(exponent, 1 - self.bias) - self.fraction_bits
        whole = round(size / Fraction(2) ** place)  # Python rounds halves to even
        largest = (2 - Fraction(1, 1 << self.fraction_bits)) * Fraction(2) ** self.bias
        found = whole * Fraction(2) ** place
        result = math.inf if found > largest else float(found)
        return -result if value < 0 else result


F16: Final = Format(5, 10)
F32: Final = Format(8, 23)
F64: Final = Format(11, 52)
BY_WIDTH: Final = {16: F16, 32: F32, 64: F64}

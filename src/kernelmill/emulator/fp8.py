"""The FP8 formats of gfx942: E4M3 FNUZ and E5M2 FNUZ.

Both have one NaN (0x80), no infinities, no negative zero, and an exponent bias one higher than
IEEE's. Source: AMD's "Instinct MI300 Instruction Set Architecture", section 7.2; Noune et al.,
"8-bit Numerical Formats for Deep Neural Networks" (2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

NAN_CODE: Final = 0x80


@dataclass(frozen=True, kw_only=True)  # no slots: the table is computed once, when first used
class Fp8:
    """One format: 1 sign bit, then exponent, then mantissa."""

    name: str
    mantissa_bits: int
    bias: int

    @cached_property
    def table(self) -> Array:
        """Return the value of each of the 256 codes: float32."""
        codes = np.arange(256)
        fraction = codes & ((1 << self.mantissa_bits) - 1)
        exponent = (codes & 0x7F) >> self.mantissa_bits
        unit = np.ldexp(1.0, 1 - self.bias - self.mantissa_bits)
        whole = np.where(exponent > 0, fraction + (1 << self.mantissa_bits), fraction)
        size = np.ldexp(whole * unit, np.maximum(exponent - 1, 0))
        values = np.where(codes & 0x80, -size, size)
        values[NAN_CODE] = np.nan
        result: Array = values.astype(np.float32)
        return result

    @property
    def largest(self) -> float:
        """Return the largest number."""
        return float(self.table[0x7F])

    def encode(self, values: Array, *, saturates: bool) -> Array:
        """Return the codes of float32 ``values``, rounded to nearest even: uint8.

        Args:
            values: of any shape.
            saturates: what is too large becomes the largest number; else NaN.
        """
        quotient = self._scaled(values)
        return self._finish(values, np.rint(quotient), saturates=saturates)

    def encode_stochastic(self, values: Array, noise: Array, *, saturates: bool) -> Array:
        """Return codes rounded up or down by chance.

        Args:
            values: of any shape.
            noise: uint32, of the same shape. Its top bits are added below the last that is kept.
            saturates: what is too large becomes the largest number; else NaN.
        """
        quotient = self._scaled(values)
        fraction_bits = 23 - self.mantissa_bits
        chance = (noise >> np.uint32(32 - fraction_bits)).astype(np.float64)
        size = np.floor(np.abs(quotient) + chance / (1 << fraction_bits))
        return self._finish(values, np.copysign(size, quotient), saturates=saturates)

    def _scaled(self, values: Array) -> Array:
        """Return ``values`` in units of the last place that the format keeps."""
        wide = values.astype(np.float64)
        _, exponent = np.frexp(wide)
        # frexp's exponent is one more than the one of the leading bit.
        place = np.maximum(exponent - 1, 1 - self.bias) - self.mantissa_bits
        return np.asarray(np.ldexp(wide, -place))

    def _finish(self, values: Array, whole: Array, *, saturates: bool) -> Array:
        wide = values.astype(np.float64)
        _, exponent = np.frexp(wide)
        place = np.maximum(exponent - 1, 1 - self.bias) - self.mantissa_bits
        size = np.ldexp(np.abs(np.nan_to_num(whole, nan=0, posinf=0)), place)
        ordered = self.table[:NAN_CODE].astype(np.float64)
        codes = np.searchsorted(ordered, np.minimum(size, self.largest)).astype(np.uint8)
        signed = np.where(np.signbit(values) & (codes > 0), codes | np.uint8(0x80), codes)
        over = np.isinf(values) | (size > self.largest)
        lost = np.isnan(values) | (over & (not saturates))
        top = np.where(np.signbit(values), np.uint8(0xFF), np.uint8(0x7F))
        return np.where(lost, np.uint8(NAN_CODE), np.where(over, top, signed))


E4M3FNUZ: Final = Fp8(name="e4m3fnuz", mantissa_bits=3, bias=8)
E5M2FNUZ: Final = Fp8(name="e5m2fnuz", mantissa_bits=2, bias=16)

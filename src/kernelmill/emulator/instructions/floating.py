"""Vector floating-point instructions of 16, 32 and 64 bits.

Source of what each does: AMD's "Instinct MI300 Instruction Set Architecture", chapter 12. The
hardware's approximate instructions (``v_rcp_f32``, ``v_exp_f32``, ...) are within 1 ulp of the true
value; here they are the correctly rounded value, or NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator import floats
from kernelmill.emulator.vector import Compute, Vector, vop

if TYPE_CHECKING:
    from kernelmill.emulator.arrays import Array

WIDTHS: Final = (16, 32, 64)
FUSED: Final[dict[int, Compute]] = {16: floats.fma16, 32: floats.fma32, 64: floats.fma64}
TURN: Final = 2 * np.pi


def _reversed(compute: Compute) -> Compute:
    return lambda a, b: compute(b, a)


def transcendental(function: Compute) -> Compute:
    """Return ``function`` computed in float64 and rounded to the type of its source.

    With float32 these units know no denormal numbers, whatever the mode says. Source: LLVM, which
    scales operands around ``v_exp_f32``, ``v_log_f32``, ``v_sqrt_f32`` for that reason.
    """

    def compute(a: Array) -> Array:
        if a.dtype != np.float32:
            return function(a.astype(np.float64)).astype(a.dtype)
        return floats.flush(function(floats.flush(a).astype(np.float64)).astype(np.float32))

    return compute


def _turns(function: np.ufunc, limit: float) -> Compute:
    """Return sine or cosine of an angle in turns, 0 or 1 beyond ``limit``."""

    def compute(a: Array) -> Array:
        angle = a.astype(np.float64)
        found = function((angle - np.floor(angle)) * TURN)
        far = np.abs(angle) > limit
        result: Array = np.where(far & np.isfinite(angle), function(0.0), found).astype(a.dtype)
        return result

    return compute


def _one_source() -> dict[str, Vector]:
    functions: dict[str, tuple[Compute, tuple[int, ...]]] = {
        "trunc": (np.trunc, WIDTHS),
        "ceil": (np.ceil, WIDTHS),
        "rndne": (np.rint, WIDTHS),
        "floor": (np.floor, WIDTHS),
        "fract": (floats.fraction, WIDTHS),
        "frexp_mant": (floats.mantissa, WIDTHS),
        "rcp": (transcendental(np.reciprocal), WIDTHS),
        "rsq": (transcendental(lambda a: 1 / np.sqrt(a)), WIDTHS),
        "sqrt": (transcendental(np.sqrt), WIDTHS),
        "exp": (transcendental(np.exp2), (16, 32)),
        "log": (transcendental(np.log2), (16, 32)),
        "exp_legacy": (transcendental(np.exp2), (32,)),
        "log_legacy": (transcendental(np.log2), (32,)),
        "rcp_iflag": (transcendental(np.reciprocal), (32,)),
        "sin": (_turns(np.sin, 256.0), (16, 32)),
        "cos": (_turns(np.cos, 256.0), (16, 32)),
    }
    return {
        f"v_{name}_f{width}": vop(f"f{width} f{width}", function)
        for name, (function, widths) in functions.items()
        for width in widths
    }


def _two_sources(width: int) -> dict[str, Vector]:
    two = f"f{width} f{width} f{width}"
    table = {
        f"v_add_f{width}": vop(two, np.add),
        f"v_mul_f{width}": vop(two, np.multiply),
        f"v_min_f{width}": vop(two, floats.minimum),
        f"v_max_f{width}": vop(two, floats.maximum),
    }
    if width < 64:
        table |= {
            f"v_sub_f{width}": vop(two, np.subtract),
            f"v_subrev_f{width}": vop(two, _reversed(np.subtract)),
        }
    return table


def _three_sources(width: int) -> dict[str, Vector]:
    two, three = f"f{width} f{width} f{width}", f"f{width} f{width} f{width} f{width}"
    fused = FUSED[width]
    table = {f"v_fma_f{width}": vop(three, fused, keeps_high=True)}
    if width > 16:
        table[f"v_fmac_f{width}"] = vop(two, fused, keeps=True)
    if width == 32:
        table["v_fmamk_f32"] = table["v_fmaak_f32"] = vop(three, fused)
    return table


def _unfused(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def _selections(width: int) -> dict[str, Vector]:
    three = f"f{width} f{width} f{width} f{width}"
    least, most = floats.minimum, floats.maximum
    return {
        f"v_min3_f{width}": vop(three, lambda a, b, c: least(least(a, b), c), keeps_high=True),
        f"v_max3_f{width}": vop(three, lambda a, b, c: most(most(a, b), c), keeps_high=True),
        f"v_med3_f{width}": vop(three, floats.median, keeps_high=True),
    }


def _legacy() -> dict[str, Vector]:
    """Instructions of older chips that gfx942 still has in part."""
    three = "f16 f16 f16 f16"
    return {
        "v_mul_legacy_f32": vop("f32 f32 f32", floats.legacy_multiply),
        "v_mad_legacy_f16": vop(three, _unfused),
        "v_fma_legacy_f16": vop(three, floats.fma16),
        "v_mad_f16": vop(three, _unfused, keeps_high=True),
        "v_mac_f16": vop("f16 f16 f16", _unfused, keeps=True, keeps_high=True),
        "v_madmk_f16": vop(three, _unfused, keeps_high=True),
        "v_madak_f16": vop(three, _unfused, keeps_high=True),
    }


def _scaling() -> dict[str, Vector]:
    return {
        "v_ldexp_f16": vop("f16 f16 i16", floats.scale),
        "v_ldexp_f32": vop("f32 f32 i32", floats.scale),
        "v_ldexp_f64": vop("f64 f64 i32", floats.scale),
        "v_frexp_exp_i16_f16": vop("i16 f16", lambda a: floats.exponent(a).astype(np.int16)),
        "v_frexp_exp_i32_f32": vop("i32 f32", floats.exponent),
        "v_frexp_exp_i32_f64": vop("i32 f64", floats.exponent),
    }


TABLE: Final[dict[str, Vector]] = {
    **_one_source(), **_legacy(), **_scaling(),
    **{name: item for width in WIDTHS for name, item in _two_sources(width).items()},
    **{name: item for width in WIDTHS for name, item in _three_sources(width).items()},
    **{name: item for width in (16, 32) for name, item in _selections(width).items()},
}  # fmt: skip

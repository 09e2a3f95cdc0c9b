"""What the demo prints: lines of at most 80 columns, so that they stream and can be piped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SHAPES_HEAD: Final = (
    f"  {'M x N x K':<15} {'error':>9} {'ms':>8} {'GFLOP/s':>8} {'torch, ms':>10} {'faster':>8}\n"
    "  error: of the worst 64 x 64 tile, both layouts and formats; ms: in the better layout;\n"
    "  torch: dequantise to float32 and matmul, in its better layout"
)
EMULATED_HEAD: Final = f"  {'M x N x K':<15} {'error':>9} {'emulated in':>12}"
SHORTEST_MS: Final = 0.5
"""Below it a ratio of two times says more about the clock than about the kernels."""


def speed_ratio(row: Mapping[str, Any]) -> float:
    """Return how many times faster the kernel is, each side in the layout it likes better."""
    return float(min(row["peer_ms"].values()) / min(row["ms"].values()))


def shape_line(row: Mapping[str, Any]) -> str:
    """Return one line of ``demo.conform`` under ``SHAPES_HEAD``."""
    best_ms = min(row["ms"].values())
    ratio = f"{speed_ratio(row):.2f} x" if best_ms >= SHORTEST_MS else "-"
    gflops, peer_ms = row["flops"] / best_ms / 1e6, min(row["peer_ms"].values())
    return (
        f"  {row['shape']:<15} {row['tile']:>9.2e} {best_ms:>8.2f} {gflops:>8.0f} {peer_ms:>10.2f}"
        f" {ratio:>8}  {verdict(row)}"
    )


def emulated_line(row: Mapping[str, Any]) -> str:
    """Return one line of ``demo.emulated`` under ``EMULATED_HEAD``."""
    seconds = f"{row['emulator_s']:.1f} s"
    return f"  {row['shape']:<15} {row['tile']:>9.2e} {seconds:>12}  {verdict(row)}"


def verdict(row: Mapping[str, Any]) -> str:
    """Say whether the shape is right."""
    return "right" if row["ok"] else "WRONG"


def device_lines(kernel: Mapping[str, Any]) -> str:
    """Return what the code object says of one kernel."""
    mfma = ", ".join(f"{count} x {name}" for name, count in fp8_mfma(kernel).items())
    return (
        f"  {kernel['name']}\n"
        f"    FP8 matrix instructions  {mfma or 'none'}\n"
        f"    registers                {kernel['vgpr_count']} VGPRs, {kernel['sgpr_count']} SGPRs\n"
        f"    spills and scratch       {spill_count(kernel)}\n"
        f"    LDS                      {kernel['lds_bytes']} bytes of 65536\n"
        f"    occupancy                {kernel['waves_per_simd']} waves per SIMD"
    )


def fp8_mfma(kernel: Mapping[str, Any]) -> dict[str, int]:
    """Return the FP8 matrix instructions of ``kernel`` and how often each stands in its code."""
    return {name: count for name, count in kernel["mfma"].items() if "fp8" in name}


def spill_count(kernel: Mapping[str, Any]) -> int:
    """Return how many registers ``kernel`` spills, plus its scratch memory in bytes."""
    return int(kernel["vgpr_spills"] + kernel["sgpr_spills"] + kernel["private_bytes"])

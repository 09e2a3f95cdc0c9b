"""The demo's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from demo.shapes import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def shape_table() -> Table:
    """Return the empty table of shapes; `add_shape` fills it."""
    table = Table(title="gemm on the CPU, loaded by name", title_justify="left")
    table.add_column("M x N x K")
    table.add_column("error", justify="right")
    table.add_column("worst\ntile", justify="right")
    for layout in LAYOUTS:
        table.add_column(f"ms, {layout.replace(' ', chr(10))}", justify="right")
    table.add_column("GFLOP/s", justify="right")
    table.add_column("dequantise\n+ matmul, ms", justify="right")
    table.add_column("times\nfaster", justify="right")
    table.add_column("")
    return table


def speed_ratio(row: Mapping[str, Any]) -> float:
    """Return how many times faster the kernel is, each side in the layout it likes better."""
    return float(min(row["peer_ms"].values()) / min(row["ms"].values()))


def add_shape(table: Table, row: Mapping[str, Any]) -> None:
    """Add one line of ``demo.conform`` to ``table``."""
    best_ms = min(row["ms"].values())
    table.add_row(
        row["shape"],
        f"{row['error']:.2e}",
        f"{row['tile']:.2e}",
        *(f"{row['ms'][layout]:.2f}" for layout in LAYOUTS),
        f"{row['flops'] / best_ms / 1e6:.0f}",
        f"{min(row['peer_ms'].values()):.2f}",
        f"{speed_ratio(row):.2f}",
        "ok" if row["ok"] else "WRONG",
    )


def emulated_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return the table of what ``demo.emulated`` found."""
    title = "gemm on gfx942: emulated, sanitized"
    table = Table(title=title, title_justify="left")
    table.add_column("M x N x K")
    for name in ("error", "worst tile", "emulator's s"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows:
        table.add_row(
            row["shape"],
            f"{row['error']:.2e}",
            f"{row['tile']:.2e}",
            f"{row['emulator_s']:.1f}",
            "ok" if row["ok"] else "WRONG",
        )
    return table


def device_table(kernels: Iterable[Mapping[str, Any]], *, arch: str) -> Table:
    """Return the table of what a code object for ``arch`` holds."""
    table = Table(title=f"gemm for {arch}: read from the binary", title_justify="left")
    table.add_column("kernel", overflow="fold")
    for name in ("VGPRs", "SGPRs", "LDS bytes", "spills", "waves/SIMD"):
        table.add_column(name, justify="right")
    table.add_column("FP8 MFMA instructions", overflow="fold")
    for kernel in kernels:
        mfma = (f"{count} x {name}" for name, count in fp8_mfma(kernel).items())
        table.add_row(
            kernel["name"],
            str(kernel["vgpr_count"]),
            str(kernel["sgpr_count"]),
            str(kernel["lds_bytes"]),
            str(spill_count(kernel)),
            str(kernel["waves_per_simd"]),
            "\n".join(mfma) or "-",
        )
    return table


def fp8_mfma(kernel: Mapping[str, Any]) -> dict[str, int]:
    """Return the FP8 matrix instructions of ``kernel`` and how often each stands in its code."""
    return {name: count for name, count in kernel["mfma"].items() if "fp8" in name}


def spill_count(kernel: Mapping[str, Any]) -> int:
    """Return how many registers ``kernel`` spills, plus its scratch memory in bytes."""
    return int(kernel["vgpr_spills"] + kernel["sgpr_spills"] + kernel["private_bytes"])

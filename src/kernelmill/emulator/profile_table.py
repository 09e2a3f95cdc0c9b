"""Profiles as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.emulator.families import count_families
from kernelmill.emulator.profile import coalescing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelmill.emulator.counters import LdsCounter, MemoryCounter
    from kernelmill.emulator.profile import Configuration, KernelProfile

HEAD: Final = "profile (emulated gfx942; bytes moved, LDS cycles and occupancy are modelled)"
MOST_ROWS: Final = 12
"""Instructions of a kind that are shown; the file has all."""
MOST_FAMILIES: Final = 6
_MEMORY_HEAD: Final = ("global memory", "source line", "requested", "moved", "ratio")
_LDS_HEAD: Final = ("LDS", "source line", "requested", "cycles", "conflicts")


def render_profiles(profiles: Sequence[KernelProfile]) -> str:
    """Return what people read: a paragraph and tables for each kernel."""
    if not profiles:
        return f"{HEAD}: no launch ran to its end"
    return "\n\n".join([HEAD, *map(_kernel_text, profiles)])


def _kernel_text(profile: KernelProfile) -> str:
    facts = [
        ("instructions", _mix(profile)),
        ("FLOPs issued", _operations(profile)),
        ("global memory", _traffic(profile)),
        ("LDS", _lds(profile)),
        *(("occupancy", _occupancy(item, profile)) for item in profile.configurations),
    ]
    lines = [f"{profile.kernel}: {_count(profile.launches, 'launch', 'launches')}"]
    lines += [f"  {title:<14} {text}" for title, text in facts if text]
    lines += _rows(_MEMORY_HEAD, map(_memory_row, _costly_memory(profile)), len(profile.memory))
    lines += _rows(_LDS_HEAD, map(_lds_row, _costly_lds(profile)), len(profile.lds))
    return "\n".join(lines)


def _mix(profile: KernelProfile) -> str:
    families = list(count_families(profile.mnemonics).items())
    shown = [f"{title} {count:,}" for title, count in families[:MOST_FAMILIES]]
    if rest := sum(count for _, count in families[MOST_FAMILIES:]):
        shown.append(f"others {rest:,}")
    return f"{profile.instructions:,} by waves: {', '.join(shown)}"


def _operations(profile: KernelProfile) -> str:
    done = profile.operations
    text = f"{done.matrix_flops:,} by matrix instructions, {done.vector_flops:,} by vector ones"
    return f"{text}; {done.integer:,} operations on integers" if done.integer else text


def _traffic(profile: KernelProfile) -> str:
    if not profile.memory:
        return "none"
    text = f"{profile.bytes_requested:,} bytes requested, {profile.bytes_moved:,} moved"
    if profile.flops_per_byte is not None:
        text += f"; {profile.flops_per_byte:,.2f} FLOPs per byte moved"
    return text


def _lds(profile: KernelProfile) -> str:
    if not profile.lds:
        return ""
    cycles = sum(item.cycles for item in profile.lds)
    conflicts = sum(item.conflict_cycles for item in profile.lds)
    return f"{cycles:,} cycles, {conflicts:,} of them bank conflicts"


def _occupancy(item: Configuration, profile: KernelProfile) -> str:
    has, fits = item.resources, item.bound
    limit = "the most there can be" if fits.limited_by == "waves" else fits.limited_by
    which = f"{_count(item.launches, 'launch', 'launches')}: "
    which = which if len(profile.configurations) > 1 else ""
    return (
        f"{which}{_count(fits.waves_per_simd, 'wave', 'waves')} per SIMD,"
        f" {_count(fits.workgroups_per_cu, 'workgroup', 'workgroups')} per CU, limited by {limit}"
        f" ({has.vgprs} VGPRs, {has.agprs} AGPRs, {has.sgprs} SGPRs, {has.lds_bytes:,} bytes of"
        f" LDS, {has.workgroup_size} work-items)"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _costly_memory(profile: KernelProfile) -> list[MemoryCounter]:
    costly = sorted(profile.memory, key=lambda item: (-item.bytes_moved, item.address))
    return costly[:MOST_ROWS]


def _costly_lds(profile: KernelProfile) -> list[LdsCounter]:
    costly = sorted(
        profile.lds, key=lambda item: (-item.conflict_cycles, -item.cycles, item.address)
    )
    return costly[:MOST_ROWS]


def _memory_row(item: MemoryCounter) -> tuple[str, ...]:
    ratio = coalescing(item.bytes_requested, item.bytes_moved)
    return (
        f"{item.address:#x} {item.instruction}",
        item.source or "-",
        f"{item.bytes_requested:,}",
        f"{item.bytes_moved:,}",
        "-" if ratio is None else f"{ratio:.0%}",
    )


def _lds_row(item: LdsCounter) -> tuple[str, ...]:
    return (
        f"{item.address:#x} {item.instruction}",
        item.source or "-",
        f"{item.bytes_requested:,}",
        f"{item.cycles:,}",
        f"{item.conflict_cycles:,}",
    )


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], total: int) -> list[str]:
    """Return a table, the columns of numbers aligned to the right; nothing without rows."""
    lines = [head, *rows]
    if len(lines) == 1:
        return []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = []
    for line in lines:
        cells = [
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        table.append("    " + "  ".join(cells).rstrip())
    if total > MOST_ROWS:
        table.append(f"    and {total - MOST_ROWS} more")
    return ["", *table]

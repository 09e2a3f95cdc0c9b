"""What ``kernel-builder inspect`` prints, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kernelmill.builder.inspection import STATUS, floor_symbols
from kernelmill.builder.toolchain.demangler import demangle
from kernelmill.builder.wording import count_of

if TYPE_CHECKING:
    from kernelmill.binary.cubin import CudaKernel
    from kernelmill.binary.symbols import Linkage
    from kernelmill.builder.inspection import Inspection, KernelFacts

_NOT_SAID = "not said"


def as_json(inspection: Inspection) -> dict[str, object]:
    """Return the facts for programs."""
    return {
        "name": inspection.name,
        "size_bytes": inspection.size_bytes,
        "linkage": inspection.linkage and _linkage_json(inspection.linkage),
        "device_status": STATUS,
        "code_objects": [
            {
                "arch": it.arch,
                "code_object_version": it.version,
                "kernels": [_kernel_json(kernel) for kernel in it.kernels],
            }
            for it in inspection.code_objects
        ],
        "cuda": [
            {
                "arch": it.arch,
                "not_read": it.not_read or None,
                "kernels": [asdict(kernel) for kernel in it.kernels],
            }
            for it in inspection.cuda
        ],
    }


def _linkage_json(linkage: Linkage) -> dict[str, object]:
    return {
        "needed": list(linkage.needed),
        "search_path": [*linkage.rpath, *linkage.runpath],
        "version_floors": {it: list(names) for it, names in floor_symbols(linkage).items()},
    }


def _kernel_json(facts: KernelFacts) -> dict[str, object]:
    kernel, fits = facts.kernel, facts.occupancy
    return {
        "name": kernel.name,
        "vgpr_count": kernel.vgpr_count,
        "agpr_count": kernel.agpr_count,
        "sgpr_count": kernel.sgpr_count,
        "vgpr_spills": kernel.vgpr_spills,
        "sgpr_spills": kernel.sgpr_spills,
        "private_bytes": kernel.private_bytes,
        "lds_bytes": kernel.lds_bytes,
        "max_workgroup_size": kernel.max_workgroup_size,
        "code_bytes": kernel.code_size,
        "waves_per_simd": fits and fits.waves_per_simd,
        "workgroups_per_cu": fits and fits.workgroups_per_cu,
        "limited_by": fits and fits.limited_by,
        "mfma": dict(facts.matrix_instructions),
        "hot_loop": facts.hot_loop and asdict(facts.hot_loop),
    }


def as_lines(inspection: Inspection) -> list[str]:
    """Return the facts for people."""
    lines = [f"{inspection.name}: {inspection.size_bytes:,} bytes"]
    if inspection.linkage:
        lines += _linkage_lines(inspection.linkage)
    readable = _readable_names(inspection)
    for code_object in inspection.code_objects:
        lines.append(f"{code_object.arch} kernels ({STATUS}):")
        for kernel in code_object.kernels:
            lines += _kernel_lines(kernel, readable[kernel.kernel.name])
    for entry in inspection.cuda:
        lines.append(f"{entry.arch} {entry.not_read or f'kernels ({STATUS}):'}")
        for it in entry.kernels:
            lines += _cuda_lines(it, readable[it.name])
    return lines


def _cuda_lines(kernel: CudaKernel, readable: str) -> list[str]:
    threads = f"at most {kernel.max_threads}" if kernel.max_threads else _NOT_SAID
    return [
        f"  {readable}",
        f"    symbol     {kernel.name}",
        f"    registers  {_said(kernel.registers)} a thread; {_said(kernel.stack_bytes)} bytes of "
        "stack; spills: not available",
        f"    shared     {kernel.shared_bytes:,} bytes; threads a block: {threads}",
        f"    code       {kernel.code_bytes:,} bytes; instruction mix and occupancy: not available",
    ]


def _said(number: int | None) -> str:
    return _NOT_SAID if number is None else str(number)


def _linkage_lines(linkage: Linkage) -> list[str]:
    path = ":".join((*linkage.rpath, *linkage.runpath))
    lines = [f"  needs        {' '.join(linkage.needed)}", f"  search path  {path or 'none'}"]
    for version, names in floor_symbols(linkage).items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        lines.append(f"  at least     {version}, for {names[0]}{more}")
    return lines


def _readable_names(inspection: Inspection) -> dict[str, str]:
    names = [it.kernel.name for obj in inspection.code_objects for it in obj.kernels]
    names += [it.name for entry in inspection.cuda for it in entry.kernels]
    return demangle(list(dict.fromkeys(names)))


def _kernel_lines(facts: KernelFacts, readable: str) -> list[str]:
    kernel, fits = facts.kernel, facts.occupancy
    matrix = ", ".join(f"{count} x {name}" for name, count in facts.matrix_instructions.items())
    lines = [
        f"  {readable}",
        f"    symbol     {kernel.name}",
        f"    registers  {kernel.vgpr_count} vector (of these {kernel.agpr_count} accumulation), "
        f"{kernel.sgpr_count} scalar; {kernel.vgpr_spills + kernel.sgpr_spills} spilled, "
        f"{kernel.private_bytes} bytes of scratch",
        f"    LDS        {kernel.lds_bytes:,} bytes; "
        f"{count_of(kernel.max_workgroup_size, 'lane')} a workgroup",
        f"    matrix     {matrix or 'none'}",
    ]
    if loop := facts.hot_loop:
        mix = ", ".join(f"{count} {kind}" for kind, count in loop.mix.items())
        lines.append(f"    hot loop   {count_of(loop.instructions, 'instruction')}: {mix}")
    if fits:
        lines.append(
            f"    occupancy  {count_of(fits.waves_per_simd, 'wave')} per SIMD, "
            f"{count_of(fits.workgroups_per_cu, 'workgroup')} per CU, limited by {fits.limited_by}"
        )
    return lines

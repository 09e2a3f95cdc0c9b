"""``kernel-builder inspect``: print what a built kernel is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from kernelmill.builder.cli.options import add_json, print_json
from kernelmill.builder.inspection import STATUS, find_binary, inspect_binary

if TYPE_CHECKING:
    import argparse

    from kernelmill.binary.symbols import Linkage
    from kernelmill.builder.inspection import Inspection, KernelFacts

HELP = "print libraries, symbol versions and device kernels of a binary; executes nothing"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=Path, metavar="FILE|VARIANT_DIR")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the facts."""
    path = find_binary(args.path)
    inspection = inspect_binary(path.read_bytes(), name=path.name)
    if args.json:
        print_json(_as_json(inspection))
    else:
        print("\n".join(_as_lines(inspection)))
    return 0


class LinkageFacts(TypedDict):
    """The form of ``linkage`` in the JSON."""

    needed: list[str]
    search_path: list[str]
    version_floors: dict[str, str]


def _as_json(inspection: Inspection) -> dict[str, object]:
    return {
        "name": inspection.name,
        "size_bytes": inspection.size_bytes,
        "linkage": inspection.linkage and _linkage_json(inspection.linkage),
        "device": {"status": STATUS, "kernels": [_kernel_json(it) for it in inspection.kernels]},
    }


def _linkage_json(linkage: Linkage) -> LinkageFacts:
    floors = {name: ".".join(map(str, it)) for name, it in linkage.version_floors.items()}
    return {
        "needed": list(linkage.needed),
        "search_path": [*linkage.rpath, *linkage.runpath],
        "version_floors": floors,
    }


def _kernel_json(facts: KernelFacts) -> dict[str, object]:
    kernel, fits = facts.kernel, facts.occupancy
    return {
        "arch": facts.arch,
        "name": kernel.name,
        "vgprs": kernel.vgpr_count,
        "agprs": kernel.agpr_count,
        "sgprs": kernel.sgpr_count,
        "spills": kernel.vgpr_spills + kernel.sgpr_spills,
        "scratch_bytes": kernel.private_bytes,
        "lds_bytes": kernel.lds_bytes,
        "workgroup_size": kernel.max_workgroup_size,
        "code_bytes": kernel.code_size,
        "occupancy": fits
        and {
            "waves_per_simd": fits.waves_per_simd,
            "workgroups_per_cu": fits.workgroups_per_cu,
            "limited_by": fits.limited_by,
        },
        "matrix_instructions": dict(facts.matrix_instructions),
    }


def _as_lines(inspection: Inspection) -> list[str]:
    lines = [f"{inspection.name}: {inspection.size_bytes:,} bytes"]
    if inspection.linkage:
        facts = _linkage_json(inspection.linkage)
        lines += [
            f"  needs        {' '.join(inspection.linkage.needed)}",
            f"  at least     {' '.join(f'{k}_{v}' for k, v in facts['version_floors'].items())}",
            f"  search path  {':'.join(facts['search_path']) or 'none'}",
        ]
    if inspection.kernels:
        lines.append(f"device kernels ({STATUS}):")
    for kernel in inspection.kernels:
        lines += _kernel_lines(kernel)
    return lines


def _kernel_lines(facts: KernelFacts) -> list[str]:
    kernel, fits = facts.kernel, facts.occupancy
    matrix = ", ".join(f"{count} x {name}" for name, count in facts.matrix_instructions.items())
    lines = [
        f"  {facts.arch} {kernel.name}",
        f"    registers  {kernel.vgpr_count} vector (of these {kernel.agpr_count} accumulation), "
        f"{kernel.sgpr_count} scalar; {kernel.vgpr_spills + kernel.sgpr_spills} spilled, "
        f"{kernel.private_bytes} bytes of scratch",
        f"    LDS        {kernel.lds_bytes:,} bytes; {kernel.max_workgroup_size} lanes a workgroup",
        f"    matrix     {matrix or 'none'}",
    ]
    if fits:
        lines.append(
            f"    occupancy  {fits.waves_per_simd} waves per SIMD, {fits.workgroups_per_cu} "
            f"workgroups per CU, limited by {fits.limited_by}"
        )
    return lines

"""The verdict on one binary: which systems, Pythons and PyTorches it runs on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from kernelmill.binary import elf, macho, pe
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.check import Finding
from kernelmill.builder.check.manylinux import check_manylinux, lowest_policy
from kernelmill.builder.check.policies import DEFAULT_POLICY, read_policies
from kernelmill.builder.check.python_abi import (
    DEFAULT_PYTHON,
    check_python_abi,
    read_stable_abi,
)
from kernelmill.builder.check.search_path import check_opened_libraries, check_search_path
from kernelmill.builder.check.symbols import check_symbols
from kernelmill.builder.check.torch_abi import check_stable_abi, check_string_abi, read_shim
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import ArchVariant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kernelmill.binary.symbols import Linkage
    from kernelmill.spec.variant import Variant

MACHINES: Final = {62: "x86_64", 183: "aarch64"}
_ONE_PYTHON: Final = re.compile(r"python3\d+\.dll", re.IGNORECASE)
DEFAULT_MACOS: Final = (15, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbiFloor:
    """The oldest of everything that a binary has to run on."""

    manylinux: str = DEFAULT_POLICY
    macos: tuple[int, int] = DEFAULT_MACOS
    python: tuple[int, int] = DEFAULT_PYTHON
    torch_stable_abi: tuple[int, int] | None = None
    """None: what the variant's name says, and nothing where it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbiVerdict:
    """What was found in one binary."""

    format: Literal["ELF", "Mach-O", "PE", "unknown"]
    needs: str
    """The oldest system that it runs on: ``manylinux_2_28``, ``macOS 14.0``, or empty: none."""
    findings: tuple[Finding, ...]


def judge_binary(
    data: bytes,
    *,
    where: str,
    floor: AbiFloor,
    variant: Variant | None = None,
    torch: Collection[str] | None = None,
) -> AbiVerdict:
    """Return which parts of ``floor`` a binary is above, and why.

    Args:
        data: the whole file.
        where: what errors call it.
        floor: the oldest of everything to run on.
        variant: what the binary was built for, if that is known.
        torch: every symbol that the PyTorch at hand offers, if that is known.

    Raises:
        BinaryError: it is damaged.
    """
    if elf.is_elf(data):
        return _judge_elf(data, where, floor, variant, torch)
    if macho.is_macho(data):
        return _judge_macho(data, where, floor, variant)
    if pe.is_pe(data):
        return _judge_pe(data, where, floor, variant)
    problem = f"neither ELF, Mach-O nor PE: it starts with {data[:4]!r}"
    hint = "other formats are not read"
    return AbiVerdict(format="unknown", needs="", findings=(Finding(problem=problem, hint=hint),))


def check_portability(
    linkage: Linkage, *, cpu: str, floor: str, torch: Collection[str] | None = None
) -> tuple[Finding, ...]:
    """Find what keeps an extension from other systems than the one that built it."""
    policies = read_policies()
    return (
        *check_manylinux(linkage, policies=policies, floor=policies.find(floor), cpu=cpu),
        *check_symbols(linkage, system=policies.libraries, torch=torch),
    )


def check_framework_abi(
    names: Collection[str],
    variant: Variant | None,
    *,
    python: tuple[int, int] = DEFAULT_PYTHON,
    stable: tuple[int, int] | None = None,
) -> Iterator[Finding]:
    """Find uses of Python and PyTorch that the variant's name, or what is asked for, rules out."""
    yield from check_python_abi(names, stable=read_stable_abi(), floor=python)
    framework = variant.framework if isinstance(variant, ArchVariant) else None
    if framework and framework.kind == "torch-stable-abi":
        stable = stable or framework.version
    if stable:
        yield from check_stable_abi(names, shim=read_shim(), version=stable)
    if framework:
        yield from check_string_abi(names, cxx11_abi=framework.cxx11_abi)


def _judge_elf(
    data: bytes,
    where: str,
    floor: AbiFloor,
    variant: Variant | None,
    torch: Collection[str] | None,
) -> AbiVerdict:
    file = elf.parse(data, where=where)
    linkage = read_linkage(file)
    cpu = MACHINES.get(file.machine, "")
    names = [it.name for it in linkage.undefined]
    return AbiVerdict(
        format="ELF",
        needs=lowest_policy(linkage, policies=read_policies(), cpu=cpu),
        findings=(
            *check_portability(linkage, cpu=cpu, floor=floor.manylinux, torch=torch),
            *check_framework_abi(
                names, variant, python=floor.python, stable=floor.torch_stable_abi
            ),
            *check_search_path(linkage),
            *check_opened_libraries(linkage, data),
        ),
    )


def _judge_macho(data: bytes, where: str, floor: AbiFloor, variant: Variant | None) -> AbiVerdict:
    images = macho.parse(data, where=where)
    newest = max((it.minimum_os for it in images), default=(0, 0))
    needs = "macOS " + ".".join(map(str, newest))
    names = sorted({name for image in images for name in image.undefined})
    too_new = Finding(
        problem=f"built for {needs}, and {'.'.join(map(str, floor.macos))} is wanted",
        hint="compile with -mmacosx-version-min",
    )
    return AbiVerdict(
        format="Mach-O",
        needs=needs,
        findings=(
            *([too_new] if newest > floor.macos else []),
            *check_framework_abi(
                names, variant, python=floor.python, stable=floor.torch_stable_abi
            ),
        ),
    )


def _judge_pe(data: bytes, where: str, floor: AbiFloor, variant: Variant | None) -> AbiVerdict:
    imports = pe.parse_imports(data, where=where)
    names = sorted({name for it in imports for name in it.names})
    return AbiVerdict(
        format="PE",
        needs="Windows",
        findings=(
            *(
                Finding(
                    problem=f"the module needs {it.library}: it loads in one Python only",
                    hint="link python3.lib, which is for the stable ABI",
                )
                for it in imports
                if _ONE_PYTHON.fullmatch(it.library)
            ),
            *check_framework_abi(
                names, variant, python=floor.python, stable=floor.torch_stable_abi
            ),
        ),
    )

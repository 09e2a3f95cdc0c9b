"""PyTorch to compile against: headers, CMake files, and stubs of its libraries, from its wheel.

The tree has the layout of the installed package, so whatever finds an installed PyTorch finds this.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.binary import elf
from kernelmill.binary.errors import BinaryError
from kernelmill.binary.symbols import read_exports, read_soname
from kernelmill.builder.errors import SdkError
from kernelmill.builder.sdk.pins import known_files, known_inputs
from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.builder.sdk.stub import StubSymbol, write_stub
from kernelmill.builder.sdk.wheels import open_wheel, unpack
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KIND = "torch"
SUMMARY = "PyTorch's headers, CMake files and link stubs, from its wheel"

_KEPT: Final = ("torch/include/", "torch/share/cmake/", "torch/utils/hipify/")
"""The last makes the headers of a ROCm build of PyTorch of those of any other."""
_LICENSES: Final = re.compile(r"torch-[^/]*\.dist-info/(?:licenses/)?(?P<name>LICENSE|NOTICE)")
_LIBRARY: Final = re.compile(
    r"torch/lib/lib(?:torch|torch_cpu|torch_cuda|torch_cuda_linalg|torch_hip|torch_xpu|torch_python"
    r"|c10|c10_cuda|c10_hip|c10_xpu)\.so"
)
_FACT: Final = r"^{name}\b[^=\n]*=\s*['\"]([^'\"]+)['\"]"
_EXACT: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:\.?(?:rc|dev|post)[0-9]+)?(?:\+[a-z0-9.]+)?")
_FOREIGN: Final = re.compile(r"_(?:end|edata|fini|init)|__bss_start|_Z(?:N?K?|T[ISV]N?K?)S[a-z].*")
"""Symbols that every linker makes, and parts of the C++ library that were linked in statically: an
extension that used them would need them of every later PyTorch."""
_CXX11: Final = "__cxx1112basic_string"


def wanted(version: str, _platform: str) -> Sequence[Wanted]:
    """Return PyTorch's wheel; ``2.12`` means the known release of 2.12."""
    pins = known_inputs()[KIND]
    known = [it for it in pins if it.startswith(f"{version}.") and "+" not in it]
    exact = known[-1] if known else version
    if not _EXACT.fullmatch(exact):
        raise InputError(
            f"{version!r} is not a release of PyTorch that is known here",
            hint="write all of it, such as torch-2.12.0",
        )
    # The index has one build of a release without a local version, whichever that is.
    release = pins[exact][0].version if exact in pins else exact
    return [
        Wanted(
            name="torch",
            version=release,
            is_literal=release != exact,
            known=known_files(KIND, exact, "torch"),
        )
    ]


def make(
    files: Mapping[str, Path], _platform: str, tree: Path, note: Callable[[str], None]
) -> Made:
    """Unpack the headers, and write a stub of each library that extensions link to."""
    with open_wheel(files["torch"]) as wheel:
        note("unpacking headers")
        unpack(wheel, tree, place=_place)
        facts = _facts(wheel.read("torch/version.py").decode())
        libraries = sorted(it for it in wheel.namelist() if _LIBRARY.fullmatch(it))
        (tree / "torch/lib").mkdir(parents=True)
        for path in libraries:
            note(f"making a stub of {path.rpartition('/')[2]}")
            (tree / path).write_bytes(_stub_of(wheel, path, facts))
    if "cxx11-abi" not in facts:
        raise SdkError("the wheel holds no libc10.so", where=str(files["torch"]))
    return Made(version=facts["version"], facts=facts)


def _place(path: str) -> str | None:
    if path.startswith(_KEPT) or path == "torch/version.py":
        return path
    license_file = _LICENSES.fullmatch(path)
    return f"torch/{license_file['name']}" if license_file else None


def _facts(version_file: str) -> dict[str, str]:
    names = {"version": "__version__", "cuda": "cuda", "hip": "hip", "git": "git_version"}
    found = {
        key: re.search(_FACT.format(name=name), version_file, re.MULTILINE)
        for key, name in names.items()
    }
    facts = {key: match[1] for key, match in found.items() if match}
    if "version" not in facts:
        raise SdkError("the wheel's torch/version.py names no version")
    return facts


def _stub_of(wheel: zipfile.ZipFile, path: str, facts: dict[str, str]) -> bytes:
    try:
        library = elf.parse(wheel.read(path), where=path)
        soname, exports = read_soname(library), read_exports(library)
    except BinaryError as error:
        raise SdkError(error.problem, where=error.where, hint="is the wheel damaged?") from error
    if path == "torch/lib/libc10.so":
        # The new string type is part of the names that it exports, or is not.
        has_new = any(_CXX11 in it.name for it in exports)
        facts["cxx11-abi"] = "yes" if has_new else "no"
    symbols = (
        StubSymbol(it.name, it.version, it.kind, it.is_weak, it.size, it.is_default)
        for it in exports
        if not _FOREIGN.fullmatch(it.name)
    )
    return write_stub(soname or path.rpartition("/")[2], symbols, machine=library.machine)

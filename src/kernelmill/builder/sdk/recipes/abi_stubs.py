"""Stubs of an old glibc and libstdc++, so that what is linked here runs on older systems.

A use of a newer symbol of libstdc++ is answered by the compiler's static ``libstdc++.a``, hidden in
the extension; a use of a newer symbol of glibc is a link error or is answered by ``compat/``.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Final

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_exports
from kernelmill.builder.sdk.pins import known_files, known_inputs
from kernelmill.builder.sdk.recipes import Made, Wanted
from kernelmill.builder.sdk.recipes.glibc import read_glibc
from kernelmill.builder.sdk.stub import AARCH64, X86_64, StubSymbol, write_stub
from kernelmill.builder.sdk.wheels import open_wheel
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from kernelmill.binary.symbols import Export

KIND = "abi-stubs"
SUMMARY = "stubs of glibc and libstdc++ for builds that satisfy manylinux_2_28"

VERSION: Final = "2.28"
_GLIBC: Final = (2, 28)
_NEWEST: Final = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
"""Those of manylinux_2_28's policy: the libraries of GCC 8."""
_UNNUMBERED: Final = frozenset({"CXXABI_TM_1", "CXXABI_FLOAT128"})
_VERSION: Final = re.compile(r"(?P<family>[A-Z]+)_(?P<numbers>\d+(?:\.\d+)*)")

_MACHINES: Final = {"x86_64-linux": X86_64, "aarch64-linux": AARCH64}
_SONAMES: Final = {
    "c": "libc.so.6",
    "m": "libm.so.6",
    "pthread": "libpthread.so.0",
    "dl": "libdl.so.2",
    "rt": "librt.so.1",
    "util": "libutil.so.1",
    "resolv": "libresolv.so.2",
}
_LOADERS: Final = {"x86_64-linux": "ld-linux-x86-64.so.2", "aarch64-linux": "ld-linux-aarch64.so.1"}
_RUNTIMES: Final = ("libstdc++.so.6", "libgcc_s.so.1")


def wanted(version: str, platform: str) -> Sequence[Wanted]:
    """Return zig, which carries a list of glibc's symbols, and the compiler's own libraries."""
    if version != VERSION or platform not in _MACHINES:
        raise InputError(
            f"no abi-stubs-{version} for {platform}", hint=f"there is abi-stubs-{VERSION}"
        )
    zig = known_inputs()[KIND][VERSION][0]
    return [
        Wanted(name=zig.name, version=zig.version, known=known_files(KIND, VERSION, zig.name)),
        *(Wanted(name=name, version="", is_local=True) for name in _RUNTIMES),
    ]


def make(files: Mapping[str, Path], platform: str, tree: Path, note: Callable[[str], None]) -> Made:
    """Write one stub per library, and the sources that each extension compiles in."""
    note(f"writing stubs of glibc {VERSION}")
    machine = _MACHINES[platform]
    (tree / "lib").mkdir(parents=True)
    with open_wheel(files["ziglang"]) as wheel:
        content = wheel.read("ziglang/lib/libc/glibc/abilists")
    libraries = read_glibc(content, target=f"{platform}-gnu", newest=_GLIBC)
    for name, soname in {**_SONAMES, "ld": _LOADERS[platform]}.items():
        stub = write_stub(soname, libraries[name], machine=machine)
        (tree / "lib" / soname).write_bytes(stub)
    for name in _RUNTIMES:
        note(f"writing a stub of {name}")
        library = elf.parse(files[name].read_bytes(), where=str(files[name]))
        stub = write_stub(name, cut(read_exports(library)), machine=machine)
        (tree / "lib" / name).write_bytes(stub)
    (tree / "compat").mkdir()
    for source in (resources.files("kernelmill.builder.sdk") / "compat").iterdir():
        if source.name.endswith(".cpp"):
            (tree / "compat" / source.name).write_bytes(source.read_bytes())
    return Made(version=VERSION, facts={"policy": "manylinux_2_28", "loader": _LOADERS[platform]})


def cut(exports: Iterable[Export]) -> list[StubSymbol]:
    """Return the symbols that the oldest supported library has, the newest version as default."""
    kept: dict[str, list[Export]] = {}
    for export in exports:
        if _is_old(export.version):
            kept.setdefault(export.name, []).append(export)
    symbols = []
    for versions in kept.values():
        newest = max(versions, key=lambda it: (it.is_default, _numbers(it.version)))
        symbols += [
            StubSymbol(it.name, it.version, it.kind, it.is_weak, it.size, it is newest)
            for it in versions
        ]
    return sorted(symbols)


def _is_old(version: str) -> bool:
    match = _VERSION.fullmatch(version)
    if match is None or match["family"] not in _NEWEST:
        return version in _UNNUMBERED
    return _numbers(version) <= _NEWEST[match["family"]]


def _numbers(version: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(version)
    return tuple(map(int, match["numbers"].split("."))) if match else ()

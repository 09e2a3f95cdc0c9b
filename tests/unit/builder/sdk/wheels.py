"""Tiny wheels, made up."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from kernelmill.builder.sdk.stub import OBJECT, TLS, StubSymbol, write_stub

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

C10 = (
    StubSymbol("_ZN3c106detail14torchCheckFailERKNSt7__cxx1112basic_stringIcE"),
    StubSymbol("_ZTVN3c105ErrorE", kind=OBJECT, is_weak=True, size=64),
    StubSymbol("_ZN3c104flagE", kind=TLS, size=1),
    # Not its own: from the static part of a C++ library, and from the linker.
    StubSymbol("_ZSt28__throw_bad_array_new_lengthv"),
    StubSymbol("_ZNKSt5ctypeIcE8do_widenEc", is_weak=True),
    StubSymbol("_end", kind=OBJECT),
)


def write_wheel(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write a wheel, its files in the order that they have here."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=(2026, 1, 2, 3, 4, 6))
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, content)
    return path


def torch_wheel(
    folder: Path,
    release: str = "2.12.0+cu130",
    symbols: Sequence[StubSymbol] = C10,
    *,
    is_reversed: bool = False,
) -> Path:
    """Write a wheel of a torch that has two headers and two libraries."""
    public, _, local = release.partition("+")
    cuda = f"'{local[2:-1]}.{local[-1]}'" if local.startswith("cu") else "None"
    files: dict[str, str | bytes] = {
        "torch/version.py": f"__version__ = '{release}'\ncuda: Optional[str] = {cuda}\n",
        "torch/include/torch/torch.h": "#pragma once\n",
        "torch/include/torch/csrc/api/include/torch/all.h": "#pragma once\n",
        "torch/share/cmake/Torch/TorchConfig.cmake": "# CMake\n",
        "torch/nn/functional.py": "left = 'out'\n",
        "torch/lib/libc10.so": write_stub("libc10.so", symbols),
        "torch/lib/libtorch_cpu.so": write_stub(
            "libtorch_cpu.so", [StubSymbol("_ZN2at3addE"), StubSymbol("_edata", kind=OBJECT)]
        ),
        "torch/lib/libshm.so": b"not an ELF file, and not wanted",
        f"torch-{public}.dist-info/LICENSE": "the license\n",
    }
    items = reversed(files.items()) if is_reversed else files.items()
    return write_wheel(
        folder / f"torch-{public}-cp311-cp311-manylinux_2_28_x86_64.whl", dict(items)
    )

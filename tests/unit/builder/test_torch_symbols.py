from __future__ import annotations

from kernelmill.binary.symbols import Reference
from kernelmill.builder.check import Finding
from kernelmill.builder.check.torch_symbols import check_torch_symbols


def wanted(*names: str, is_weak: bool = False) -> list[Reference]:
    return [Reference(name=it, version="", library="", is_weak=is_weak) for it in names]


def test_uses_that_no_library_answers_are_found() -> None:
    undefined = wanted("_ZN3c105a", "_ZN2at1bE", "_ZNK5torch1cE", "aoti_torch_d", "_ZTIN3c101eE")
    assert check_torch_symbols(undefined, {"_ZN3c105a"}, torch="2.12") == (
        Finding(
            problem="torch 2.12 does not export _ZN2at1bE, _ZNK5torch1cE, aoti_torch_d and 1 more",
            hint="use what its libraries export; `c++filt` tells the names",
        ),
    )


def test_symbols_of_others_and_weak_ones_are_passed_over() -> None:
    others = wanted("_ZNSt6threadC1Ev", "PyModule_Create2", "GOMP_parallel", "hipLaunchKernel")
    assert check_torch_symbols([*others, *wanted("_ZN2at1bE", is_weak=True)], set(), torch="") == ()

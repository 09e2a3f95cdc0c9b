"""Tables of the ABI checks. Bug numbers: L10 (a second GPU runtime), L11 (GLIBC not found)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.binary.test_macho import image
from tests.unit.binary.test_pe import module

from kernelmill.binary.symbols import Linkage, Reference
from kernelmill.builder.check.abi import AbiFloor, check_framework_abi, judge_binary
from kernelmill.builder.check.mangled import namespaces, new_string, old_string
from kernelmill.builder.check.manylinux import check_manylinux, lowest_policy
from kernelmill.builder.check.policies import policy_number, read_policies
from kernelmill.builder.check.python_abi import check_python_abi, read_stable_abi
from kernelmill.builder.check.search_path import check_opened_libraries, check_search_path
from kernelmill.builder.check.symbols import check_symbols, read_cxx_runtime
from kernelmill.builder.check.torch_abi import (
    check_registration,
    check_stable_abi,
    check_string_abi,
    read_shim,
)
from kernelmill.builder.errors import PlanError
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.builder.check import Finding

TORCH = ("libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libc.so.6")
ERROR = "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD_ERROR = "_ZN3c105ErrorC1ENS_14SourceLocationESs"
LIBRARY = "_ZN5torch7LibraryC1ENS0_4KindENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
STREAM = "_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev"


def linkage(
    *wants: str, needed: tuple[str, ...] = TORCH, runpath: tuple[str, ...] = (), weak: bool = False
) -> Linkage:
    """``wants`` are ``name`` or ``name@version``."""
    return Linkage(
        soname="",
        needed=needed,
        runpath=runpath,
        rpath=(),
        undefined=tuple(
            Reference(
                name=text.partition("@")[0],
                version=text.partition("@")[2],
                library="libc.so.6" if "@" in text else "",
                is_weak=weak,
            )
            for text in wants
        ),
        defined=(),
    )


def problems(findings: Iterable[Finding]) -> list[str]:
    return [finding.problem for finding in findings]


@pytest.mark.parametrize(
    ("wants", "floor", "found"),
    [
        pytest.param(["memcpy@GLIBC_2.14", "fcntl64@GLIBC_2.28"], "2_28", [], id="at-the-floor"),
        pytest.param(
            ["__libc_single_threaded@GLIBC_2.32"],
            "2_28",
            [
                "GLIBC_2.32 is first in manylinux_2_34, and manylinux_2_28 is wanted: "
                "__libc_single_threaded"
            ],
            id="above",
        ),
        pytest.param(
            ["stat@GLIBC_2.33", "fstat@GLIBC_2.33", "dlopen@GLIBC_2.34"],
            "2_31",
            [
                "GLIBC_2.33 is first in manylinux_2_34, and manylinux_2_31 is wanted: stat, fstat",
                "GLIBC_2.34 is first in manylinux_2_34, and manylinux_2_31 is wanted: dlopen",
            ],
            id="one-for-each-version",
        ),
        pytest.param(["dlopen@GLIBC_2.34"], "2_34", [], id="newer-floor"),
        pytest.param(
            ["_ZNSt6vector@GLIBCXX_3.4.29", "_ZTI@CXXABI_1.3.11"],
            "2_28",
            [
                "GLIBCXX_3.4.29 is first in manylinux_2_34, and manylinux_2_28 is wanted: "
                "_ZNSt6vector"
            ],
            id="c++",
        ),
        pytest.param(
            ["x@GLIBC_PRIVATE"],
            "2_28",
            ["GLIBC_PRIVATE is in no manylinux policy, and manylinux_2_28 is wanted: x"],
            id="private",
        ),
        pytest.param(["hipMalloc@hip_4.2"], "2_28", [], id="another-family"),
        pytest.param(["memcpy@GLIBC_2.14"], "2_12", [
            "GLIBC_2.14 is first in manylinux_2_17, and manylinux_2_12 is wanted: memcpy"
        ], id="old-floor"),
    ],
)  # fmt: skip
def test_l11_symbols_above_the_floor_are_named(
    wants: list[str], floor: str, found: list[str]
) -> None:
    policy = f"manylinux_{floor}"
    binary = linkage(*wants)
    policies = read_policies()
    findings = check_manylinux(binary, policies=policies, floor=policy, cpu="x86_64")
    assert problems(findings) == found


def test_l11_weak_references_count_too() -> None:
    binary = linkage("x@GLIBC_2.34", weak=True)
    assert check_manylinux(binary, policies=read_policies(), floor="manylinux_2_28", cpu="aarch64")


def test_l11_versions_that_no_symbol_wants_count_too() -> None:
    binary = replace(linkage("memcpy@GLIBC_2.14"), needed_versions=("GLIBC_ABI_DT_RELR",))
    policies = read_policies()
    found = check_manylinux(binary, policies=policies, floor="manylinux_2_28", cpu="x86_64")
    assert problems(found) == [
        "GLIBC_ABI_DT_RELR is first in manylinux_2_36, and manylinux_2_28 is wanted: "
        "no symbol, the file itself"
    ]
    assert lowest_policy(binary, policies=policies, cpu="x86_64") == "manylinux_2_36"


def test_long_lists_of_symbols_are_cut() -> None:
    binary = linkage(*(f"f{index}@GLIBC_2.34" for index in range(8)))
    (finding,) = check_manylinux(
        binary, policies=read_policies(), floor="manylinux_2_28", cpu="x86_64"
    )
    assert finding.problem.endswith("wanted: f0, f1, f2, f3, f4 and 3 more")


@pytest.mark.parametrize(
    ("wants", "policy"),
    [
        ([], "manylinux_2_5"),
        (["memcpy@GLIBC_2.14", "f@GCC_3.0"], "manylinux_2_17"),
        (["f@GLIBC_2.28"], "manylinux_2_28"),
        (["f@GLIBC_2.32"], "manylinux_2_34"),
        (["f@GLIBC_9.1"], ""),
    ],
)
def test_lowest_policy_has_everything(wants: list[str], policy: str) -> None:
    assert lowest_policy(linkage(*wants), policies=read_policies(), cpu="x86_64") == policy


def test_policies_have_other_names_and_an_end() -> None:
    assert read_policies().find("manylinux2014") == "manylinux_2_17"
    with pytest.raises(PlanError, match="no manylinux policy is called 'manylinux_2_29'"):
        read_policies().find("manylinux_2_29")


def test_policy_of_glibc_is_its_number() -> None:
    """Every version of glibc is in the first policy that is not older than it."""
    numbers = [policy_number(name) for name in read_policies().names]
    versions = read_policies().first_policy["x86_64"]["GLIBC"]
    checked = 0
    for version, oldest in versions.items():
        if version[0].isdecimal():
            number = tuple(map(int, version.split(".")))[:2]
            assert oldest == min(it for it in numbers if it >= number), version
            checked += 1
    assert checked > 30


@pytest.mark.parametrize(
    ("binary", "found"),
    [
        pytest.param(linkage("memcpy@GLIBC_2.14", ERROR, "PyList_New"), [], id="all-known"),
        pytest.param(
            linkage("arc4random", "_dl_find_object"),
            ["nobody is known to bring arc4random, _dl_find_object"],
            id="left-by-a-stub",
        ),
        pytest.param(linkage("_ITM_deregisterTMCloneTable", weak=True), [], id="weak"),
        pytest.param(linkage(STREAM, "GOMP_parallel"), [], id="torch-brings-newer-libstdc++"),
        pytest.param(
            linkage(STREAM, needed=("libstdc++.so.6",)),
            [f"nobody is known to bring {STREAM}"],
            id="nobody-brings-newer-libstdc++",
        ),
        pytest.param(linkage("aoti_torch_get_dim", "torch_call_dispatcher"), [], id="shim"),
        pytest.param(
            linkage("cudaMalloc", "__cudaRegisterFunction", needed=("libcudart.so.13",)),
            [],
            id="cuda",
        ),
        pytest.param(
            linkage("cudaMalloc"), ["nobody is known to bring cudaMalloc"], id="cuda-not-linked"
        ),
        pytest.param(
            linkage("hipLaunchKernel", "__hipPushCallConfiguration", needed=("libamdhip64.so.7",)),
            [],
            id="rocm",
        ),
        pytest.param(
            linkage(needed=("libmkl_rt.so.2", "libc.so.6", "ld-linux-x86-64.so.2")),
            ["the binary needs libmkl_rt.so.2, which neither systems nor PyTorch bring"],
            id="library",
        ),
        pytest.param(
            linkage(needed=("libcudart.so",)),
            ["the binary needs libcudart.so, which neither systems nor PyTorch bring"],
            id="unversioned-library",
        ),
    ],
)
def test_everything_wanted_is_somebodys(binary: Linkage, found: list[str]) -> None:
    findings = check_symbols(binary, system=read_policies().libraries)
    assert problems(findings) == found


def test_torch_at_hand_has_the_last_word() -> None:
    binary = linkage(ERROR, "torch_call_dispatcher", STREAM)
    system = read_policies().libraries
    assert check_symbols(binary, system=system, torch={ERROR, "torch_call_dispatcher"}) == ()
    assert problems(check_symbols(binary, system=system, torch={ERROR})) == [
        "the PyTorch at hand does not export torch_call_dispatcher"
    ]


def test_torch_brings_no_symbol_that_old_systems_have() -> None:
    assert "_ZNSt6vectorIiSaIiEE9push_backEOi" not in read_cxx_runtime()
    assert "_ZSt28__throw_bad_array_new_lengthv" in read_cxx_runtime()


@pytest.mark.parametrize(
    ("name", "floor", "found"),
    [
        ("PyModule_Create2", (3, 9), ""),
        ("PyInit_k", (3, 9), "PyInit_k is not in Python's stable ABI"),
        ("_PyObject_GC_New", (3, 9), ""),
        ("PyModule_AddType", (3, 9), "PyModule_AddType is in Python's stable ABI since 3.10, and"),
        ("PyModule_AddType", (3, 10), ""),
        ("_PyThreadState_UncheckedGet", (3, 9), "_PyThreadState_UncheckedGet is not in Python's"),
        ("Pyramid", (3, 9), ""),
        ("_ZN8pybind116objectD2Ev", (3, 9), ""),
    ],
)
def test_python_symbols_are_in_the_stable_abi(
    name: str, floor: tuple[int, int], found: str
) -> None:
    findings = problems(check_python_abi([name], stable=read_stable_abi(), floor=floor))
    assert len(findings) == bool(found)
    assert all(it.startswith(found) for it in findings)


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        pytest.param("aoti_torch_get_dim", (2, 9), "", id="first"),
        pytest.param(
            "torch_call_dispatcher",
            (2, 9),
            "torch_call_dispatcher is in PyTorch's stable ABI since 2.10, and 2.9 is wanted",
            id="newer",
        ),
        pytest.param("torch_call_dispatcher", (2, 10), "", id="in-time"),
        pytest.param(
            "torch_exception_get_what",
            (2, 12),
            "torch_exception_get_what is in PyTorch's stable ABI since 2.13, and 2.12 is wanted",
            id="guarded",
        ),
        pytest.param(
            "aoti_torch_cpu_add_out",
            (2, 12),
            "aoti_torch_cpu_add_out is not in PyTorch's stable ABI",
            id="private-shim",
        ),
        pytest.param(
            ERROR, (2, 12), f"{ERROR} is C++ of PyTorch, which changes with every version", id="c++"
        ),
        pytest.param("_ZNK5torch6stable6Tensor3dimEv", (2, 9), "", id="stable-c++"),
        pytest.param("_ZTIN2at6TensorE", (2, 9), "_ZTIN2at6TensorE is C++", id="type-information"),
        pytest.param("_ZSt9terminatev", (2, 9), "", id="std"),
        pytest.param("cudaMalloc", (2, 9), "", id="others"),
    ],
)
def test_torch_symbols_are_in_the_stable_abi(
    name: str, version: tuple[int, int], found: str
) -> None:
    findings = problems(check_stable_abi([name], shim=read_shim(), version=version))
    assert len(findings) == bool(found)
    assert all(it.startswith(found) for it in findings)


@pytest.mark.parametrize(
    ("name", "cxx11_abi", "found"),
    [
        pytest.param(ERROR, True, False, id="new-new"),
        pytest.param(OLD_ERROR, True, True, id="old-new"),
        pytest.param(OLD_ERROR, False, False, id="old-old"),
        pytest.param(ERROR, False, True, id="new-old"),
        pytest.param(OLD_ERROR, None, False, id="name-does-not-say"),
        pytest.param("_ZNSs4_Rep20_S_empty_rep_storageE", True, False, id="own-business"),
        pytest.param("_ZN2at8SsomethiEv", True, False, id="identifier"),
    ],
)
def test_strings_are_those_of_the_variants_name(
    name: str, cxx11_abi: bool | None, found: bool
) -> None:
    assert bool(check_string_abi([name], cxx11_abi=cxx11_abi)) is found


def test_string_finding_says_which_and_what_to_do() -> None:
    (finding,) = check_string_abi([OLD_ERROR], cxx11_abi=True)
    assert finding.problem == (
        "the variant says cxx11, and PyTorch is called with strings of the old ABI: " + OLD_ERROR
    )
    assert finding.hint == "compile with -D_GLIBCXX_USE_CXX11_ABI=1"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("_ZN3c105ErrorC1Ev", ("c10", "Error")),
        ("_ZNK2at6Tensor3dimEv", ("at", "Tensor", "dim")),
        ("_ZNR5torch7Library4_defEv", ("torch", "Library", "_def")),
        ("_ZTVN3c105ErrorE", ("c10", "Error")),
        ("_ZThn16_N2at4NodeD0Ev", ("at", "Node")),
        ("_ZNSt6vectorIN2at6TensorEED1Ev", ()),
        ("_Z8functionN2at6TensorE", ()),
        ("memcpy", ()),
    ],
)
def test_namespaces_are_those_of_the_symbol_itself(name: str, found: tuple[str, ...]) -> None:
    assert namespaces(name) == found


def test_old_and_new_strings_are_told_apart() -> None:
    assert not old_string(ERROR)
    assert new_string(ERROR)
    assert old_string(OLD_ERROR)
    assert not new_string(OLD_ERROR)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (LIBRARY, []),
        ("aoti_torch_library_init_def", []),
        ("aoti_torch_library_init_fragment", []),
        ("memcpy", ["the extension registers no operators"]),
    ],
)
def test_extensions_register_operators(name: str, found: list[str]) -> None:
    assert problems(check_registration([name])) == found


@pytest.mark.parametrize(
    ("path", "is_found"),
    [
        ("/opt/rocm/lib", True),
        ("/usr/local/cuda/lib64", True),
        ("", True),
        ("$ORIGIN/../lib", False),
        ("${ORIGIN}", False),
        ("lib/$ORIGIN", True),
    ],
)
def test_l10_search_paths_do_not_leave_the_build(path: str, is_found: bool) -> None:
    found = problems(check_search_path(linkage(runpath=(path,))))
    assert found == ([f"the extension has the library search path {path!r}"] if is_found else [])


@pytest.mark.parametrize(
    ("wants", "data", "found"),
    [
        (
            ["dlopen@GLIBC_2.34"],
            b"\0libamdhip64.so\0",
            ["the extension opens libamdhip64.so by a name without a version"],
        ),
        (["dlopen@GLIBC_2.34"], b"\0libamdhip64.so.7\0", []),
        (["dlopen@GLIBC_2.34"], b"\0/opt/libamdhip64.so.txt\0", []),
        (["malloc@GLIBC_2.2.5"], b"\0libamdhip64.so\0", []),
    ],
)
def test_l10_runtimes_are_not_opened_without_a_version(
    wants: list[str], data: bytes, found: list[str]
) -> None:
    assert problems(check_opened_libraries(linkage(*wants), data)) == found


@pytest.mark.parametrize(
    ("variant", "stable", "found"),
    [
        pytest.param("torch-stable-abi29-cpu-x86_64-linux", None, 1, id="name"),
        pytest.param("torch-stable-abi210-cpu-x86_64-linux", None, 0, id="newer-name"),
        pytest.param("torch-stable-abi210-cpu-x86_64-linux", (2, 9), 1, id="asked"),
        pytest.param("torch213-cxx11-cpu-x86_64-linux", None, 0, id="full"),
        pytest.param("torch-cpu", None, 0, id="noarch"),
    ],
)
def test_stable_abi_is_judged_by_the_variants_name(
    variant: str, stable: tuple[int, int] | None, found: int
) -> None:
    findings = check_framework_abi(["torch_call_dispatcher"], parse_variant(variant), stable=stable)
    assert len(list(findings)) == found


@pytest.mark.parametrize(
    ("minos", "found"),
    [
        (0x000F0000, []),
        (0x000E0000, []),
        (0x000F0100, ["built for macOS 15.1, and 15.0 is wanted"]),
    ],
)
def test_macos_binaries_say_their_oldest_system(minos: int, found: list[str]) -> None:
    verdict = judge_binary(image(minos=minos), where="k.so", floor=AbiFloor())
    assert problems(verdict.findings) == found
    assert verdict.format == "Mach-O"


def test_macos_binaries_are_judged_by_their_symbols_too() -> None:
    data = image(minos=0x000E0000, undefined=("PyModule_AddType", "torch_call_dispatcher"))
    variant = parse_variant("torch-stable-abi29-metal-aarch64-darwin")
    verdict = judge_binary(data, where="k.so", floor=AbiFloor(), variant=variant)
    assert [it.split(" is in")[0] for it in problems(verdict.findings)] == [
        "PyModule_AddType",
        "torch_call_dispatcher",
    ]


def test_windows_modules_are_judged_by_what_they_import() -> None:
    data = module({"python3.dll": ["PyModule_AddType"], "torch_cpu.dll": ["torch_list_size"]})
    variant = parse_variant("torch-stable-abi29-cpu-x86_64-windows")
    verdict = judge_binary(data, where="k.pyd", floor=AbiFloor(), variant=variant)
    assert verdict.format == "PE"
    assert [it.split(" is in")[0] for it in problems(verdict.findings)] == [
        "PyModule_AddType",
        "torch_list_size",
    ]
    data = module({"Python311.dll": ["PyList_New"]})
    assert problems(judge_binary(data, where="k.pyd", floor=AbiFloor()).findings) == [
        "the module needs Python311.dll: it loads in one Python only"
    ]


def test_other_formats_are_no_silent_pass() -> None:
    verdict = judge_binary(b"!<arch>", where="k.so", floor=AbiFloor())
    assert problems(verdict.findings) == ["neither ELF, Mach-O nor PE: it starts with b'!<ar'"]


def test_data_files_name_each_symbol_once() -> None:
    by_version: dict[tuple[int, int], int] = defaultdict(int)
    for version in read_shim().values():
        by_version[version] += 1
    assert min(by_version) == (2, 9)
    assert read_shim()["torch_list_push_back"] == (2, 10)
    assert read_stable_abi()["PyType_FromModuleAndSpec"] == (3, 10)

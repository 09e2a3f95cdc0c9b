"""Choosing a variant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.resolve import no_variant, resolve, trace_text
from kernelmill.spec.variant import ArchVariant, parse_variant
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from kernelmill.spec.errors import NoVariant

NIGHTLY = "nightly: ABI may differ"


def host_of(
    compute: str = "cpu", *, torch: str | None = "2.13.0", tvm_ffi: tuple[int, int] | None = None
) -> Host:
    variant = parse_variant(f"torch213-{compute}-x86_64-linux")
    assert isinstance(variant, ArchVariant)
    return Host(
        cpu="x86_64",
        os="linux",
        backend=variant.compute.backend,
        backend_version=variant.compute.version,
        torch=parse_release(torch, what="PyTorch") if torch else None,
        cxx11_abi=True if torch else None,
        tvm_ffi=tvm_ffi,
        python=(3, 11),
    )


METAL = Host(
    cpu="aarch64",
    os="darwin",
    backend=Backend.METAL,
    torch=parse_release("2.13.0", what="PyTorch"),
    macos=(26, 0),
    python=(3, 12),
)


def chosen(names: list[str], host: Host) -> str | None:
    variant = resolve(names, host).chosen
    return str(variant) if variant else None


def objection(name: str, host: Host) -> str:
    (decision,) = resolve([name], host).trace
    return decision.objection


CUDA_BUILDS = [f"torch213-cxx11-cu{version}-x86_64-linux" for version in ("126", "128", "130")]


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        pytest.param("cu129", "cu128", id="nearest-older-minor"),
        pytest.param("cu128", "cu128", id="exact"),
        pytest.param("cu127", "cu126", id="newer-minor-loses"),
        pytest.param("cu125", None, id="all-newer"),
        pytest.param("cu130", "cu130", id="other-major"),
        pytest.param("cu132", "cu130", id="newest-major"),
        pytest.param("cu140", None, id="never-crosses-the-major"),
        pytest.param("cu1210", "cu128", id="two-digit-minor"),
    ],
)
def test_cuda_build_is_chosen_when_same_major_and_not_newer(
    system: str, expected: str | None
) -> None:
    # V1
    name = expected and f"torch213-cxx11-{expected}-x86_64-linux"
    assert chosen(CUDA_BUILDS, host_of(system)) == name


def test_every_cuda_build_is_rejected_with_a_reason_when_all_are_newer() -> None:
    # V1
    assert [it.objection for it in resolve(CUDA_BUILDS, host_of("cu125")).trace] == [
        f"CUDA version ({version}) is not compatible with system CUDA version (12.5)"
        for version in ("13.0", "12.8", "12.6")
    ]


@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        ("2.13.0", "torch-stable-abi210-cu130-x86_64-linux"),
        ("2.10.1", "torch-stable-abi210-cu130-x86_64-linux"),
        ("2.9.0", "torch-stable-abi29-cu130-x86_64-linux"),
        ("2.8.0", None),
    ],
)
def test_stable_abi_build_is_chosen_when_torch_is_new_enough(
    torch: str, expected: str | None
) -> None:
    # V2: "210" is 2.10, not 21.0.
    names = [
        "torch212-cxx11-cu130-x86_64-linux",
        "torch-stable-abi29-cu130-x86_64-linux",
        "torch-stable-abi210-cu130-x86_64-linux",
    ]
    assert chosen(names, host_of("cu130", torch=torch)) == expected


@pytest.mark.parametrize(
    ("name", "torch", "note"),
    [
        ("torch213-cxx11-cpu-x86_64-linux", "2.13.0.dev20260701+cu130", NIGHTLY),
        ("torch210-cxx11-cpu-x86_64-linux", "2.10.0+rocm7.2", ""),
        ("torch28-cxx11-cpu-x86_64-linux", "2.8.0a0+git6c0e746", NIGHTLY),
        ("torch212-cxx11-cpu-x86_64-linux", "2.12.0a0+rocm7.12.0a20260304", NIGHTLY),
        ("torch26-cxx11-cpu-x86_64-linux", "2.6.0+rocm6.4.0.git2fb0ac2b", ""),
        ("torch29-cxx11-cpu-x86_64-linux", "2.9.1+cpu", ""),
        ("torch-stable-abi213-cpu-x86_64-linux", "2.13.0.dev20260701", NIGHTLY),
        ("torch-stable-abi29-cpu-x86_64-linux", "2.13.0.dev20260701", ""),
        ("torch-cpu", "2.13.0.dev20260701", ""),
    ],
)
def test_prerelease_counts_as_its_series_and_is_flagged(name: str, torch: str, note: str) -> None:
    # V4
    (decision,) = resolve([name], host_of(torch=torch)).trace
    assert (decision.objection, decision.note) == ("", note)


@pytest.mark.parametrize(
    ("name", "host", "expected"),
    [
        pytest.param(
            "torch213-cu126-aarch64-linux",
            host_of("cu126"),
            "CPU (aarch64) does not match system CPU (x86_64)",
            id="cpu",
        ),
        pytest.param(
            "torch212-rocm71-x86_64-windows",
            host_of("cu126"),
            "OS (windows) does not match system OS (linux)",
            id="os-before-framework",
        ),
        pytest.param(
            "torch212-rocm71-x86_64-linux",
            host_of("cu126"),
            "Torch version (2.12) does not match environment Torch version (2.13.0)",
            id="framework-before-backend",
        ),
        pytest.param(
            "torch213-cpu-x86_64-linux",
            host_of(torch=None),
            "Torch version (2.13) does not match environment Torch version (None)",
            id="no-torch",
        ),
        pytest.param(
            "torch213-cxx98-cpu-x86_64-linux",
            host_of(),
            "Torch CXX11 ABI (False) does not match environment Torch CXX11 ABI (True)",
            id="cxx-abi",
        ),
        pytest.param(
            "torch-stable-abi214-cpu-x86_64-linux",
            host_of(),
            "Torch stable ABI version (2.14) is too new for environment Torch version (2.13.0)",
            id="stable-abi",
        ),
        pytest.param(
            "torch-stable-abi29-cpu-x86_64-linux",
            host_of(torch=None),
            "Torch stable ABI version (2.9) is too new for environment Torch version (None)",
            id="stable-abi-no-torch",
        ),
        pytest.param(
            "tvm-ffi01-cpu-x86_64-linux",
            host_of(tvm_ffi=(0, 2)),
            "tvm-ffi version (0.1) does not match environment tvm-ffi version (0.2)",
            id="tvm-ffi",
        ),
        pytest.param(
            "tvm-ffi01-cpu-x86_64-linux",
            host_of(),
            "tvm-ffi version (0.1) does not match environment tvm-ffi version (None)",
            id="no-tvm-ffi",
        ),
        pytest.param(
            "torch213-cxx11-rocm71-x86_64-linux",
            host_of("rocm72"),
            "backend (rocm71) does not match selected backend (rocm72)",
            id="rocm-other-minor",
        ),
        pytest.param(
            "torch213-cxx11-rocm72-x86_64-linux",
            host_of("rocm714"),
            "backend (rocm72) does not match selected backend (rocm714)",
            id="rocm-two-digit-minor",
        ),
        pytest.param(
            "torch213-cxx11-cpu-x86_64-linux",
            host_of("cu130"),
            "backend (cpu) does not match selected backend (cu130)",
            id="cpu-build-on-cuda",
        ),
        pytest.param(
            "torch-cuda",
            host_of(),
            "backend (cuda) does not match system backend (cpu) and is not universal",
            id="noarch",
        ),
        pytest.param("torch-npu", host_of("cann82"), "", id="noarch-npu-is-cann"),
        pytest.param("torch-rocm", host_of("rocm72"), "", id="noarch-rocm"),
        pytest.param("torch213-metal-aarch64-darwin", METAL, "", id="metal"),
        pytest.param("torch213-cxx11-rocm714-x86_64-linux", host_of("rocm714"), "", id="rocm"),
    ],
)
def test_first_objection(name: str, host: Host, expected: str) -> None:
    assert objection(name, host) == expected


@pytest.mark.parametrize(("macos", "shown"), [((15, 4), "15.4"), (None, "None")])
def test_metal_build_is_rejected_when_macos_is_old(
    macos: tuple[int, int] | None, shown: str
) -> None:
    host = Host(
        cpu="aarch64",
        os="darwin",
        backend=Backend.METAL,
        torch=METAL.torch,
        macos=macos,
        python=(3, 12),
    )
    assert objection("torch213-metal-aarch64-darwin", host) == (
        f"Metal kernels require macOS 26.0 or later, system macOS version is {shown}"
    )


@pytest.mark.parametrize(("python", "fits"), [((3, 14), False), ((3, 15), True)])
def test_compiled_build_has_a_reason_when_python_is_free_threaded(
    python: tuple[int, int], fits: bool
) -> None:
    # R6
    base = host_of()
    host = Host(
        cpu=base.cpu,
        os=base.os,
        backend=base.backend,
        torch=base.torch,
        cxx11_abi=True,
        is_free_threaded=True,
        python=python,
    )
    resolution = resolve(["torch213-cxx11-cpu-x86_64-linux", "torch-cpu"], host)
    reasons = {str(it.variant): it.objection for it in resolution.trace}
    expected = "" if fits else "compiled builds need free-threaded Python 3.15 or newer"
    assert reasons == {"torch213-cxx11-cpu-x86_64-linux": expected, "torch-cpu": ""}


def test_order_is_stable_abi_torch_tvm_noarch_universal() -> None:
    best_first = [
        "torch-stable-abi210-cu126-x86_64-linux",
        "torch-stable-abi29-cu128-x86_64-linux",
        "torch-stable-abi29-cu126-x86_64-linux",
        "torch213-cu128-x86_64-linux",
        "torch213-cxx11-cu128-x86_64-linux",
        "torch213-cxx11-cu126-x86_64-linux",
        "tvm-ffi01-cu128-x86_64-linux",
        "torch-cuda",
        "torch-universal",
    ]
    trace = resolve(reversed(best_first), host_of("cu128", tvm_ffi=(0, 1))).trace
    assert [str(it.variant) for it in trace] == best_first


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param(host_of(), "torch213-cxx11-cpu-x86_64-linux", id="cpu-arch-before-noarch"),
        pytest.param(host_of("cu130"), "torch-cuda", id="cuda-noarch-before-universal"),
        pytest.param(host_of("rocm72"), "torch-universal", id="rocm-universal"),
        pytest.param(
            host_of("cu130").with_backend(Backend.CPU),
            "torch213-cxx11-cpu-x86_64-linux",
            id="explicit-cpu-on-cuda",
        ),
        pytest.param(
            host_of("rocm72").with_backend(Backend.CPU),
            "torch213-cxx11-cpu-x86_64-linux",
            id="explicit-cpu-on-rocm",
        ),
    ],
)
def test_pure_python_build_serves_when_nothing_compiled_does(host: Host, expected: str) -> None:
    # V12
    names = ["torch-cuda", "torch-cpu", "torch-universal", "torch213-cxx11-cpu-x86_64-linux"]
    assert chosen(names, host) == expected


def test_newer_rocm_sorts_first_when_minors_have_two_digits() -> None:
    # V7, R1
    names = [f"torch213-{rocm}-x86_64-linux" for rocm in ("rocm72", "rocm714", "rocm100", "rocm64")]
    trace = resolve(names, host_of("cpu")).trace
    assert [str(it.variant).split("-")[1] for it in trace] == [
        "rocm100",
        "rocm714",
        "rocm72",
        "rocm64",
    ]


def test_trace_text_names_the_choice_and_each_reason() -> None:
    names = ["torch-cpu", "torch213-cxx11-cpu-x86_64-linux", "torch-cuda", "notes"]
    resolution = resolve(names, host_of(torch="2.13.0.dev20260701"))
    assert trace_text(resolution) == (
        "torch213-cxx11-cpu-x86_64-linux compatible, preferred ✅ (nightly: ABI may differ)\n"
        "torch-cpu compatible ✅\n"
        "torch-cuda: backend (cuda) does not match system backend (cpu) and is not universal"
    )
    assert resolution.skipped == ("notes",)


def test_every_build_is_listed_with_a_reason_when_there_is_no_torch() -> None:
    # V14
    names = [
        "torch213-cxx11-cpu-x86_64-linux",
        "torch-stable-abi29-cu130-x86_64-linux",
        "torch-cpu",
    ]
    resolution = resolve(names, host_of(torch=None))
    assert trace_text(resolution) == (
        "torch-cpu compatible, preferred ✅\n"
        "torch-stable-abi29-cu130-x86_64-linux: "
        "Torch stable ABI version (2.9) is too new for environment Torch version (None)\n"
        "torch213-cxx11-cpu-x86_64-linux: "
        "Torch version (2.13) does not match environment Torch version (None)"
    )


def test_part_of_two_variants_is_judged_the_same_for_both() -> None:
    # Each framework and backend is judged once per choice: nothing else of a variant may count.
    names = [
        f"torch{minor}-{compute}-{cpu}-{system}"
        for minor in ("212", "213")
        for compute in ("cpu", "cu130", "cu126")
        for cpu in ("x86_64", "aarch64")
        for system in ("linux", "windows")
    ]
    host = host_of("cu130")
    together = {it.variant: it.objection for it in resolve(names, host).trace}
    assert together == {parse_variant(name): objection(name, host) for name in names}
    assert [str(it) for it, reason in together.items() if not reason] == [
        "torch213-cu130-x86_64-linux"
    ]


def error_of(names: list[str], host: Host, *, revision: str = "v1") -> NoVariant:
    return no_variant(resolve(names, host), repo="org/relu", revision=revision, host=host)


def test_no_variant_shows_trace_counts_and_skipped_names() -> None:
    error = error_of(["torch-cuda", "build.log", "old"], host_of("rocm72"))
    assert str(error) == (
        "Cannot find a build variant for this system in org/relu (revision: v1):\n\n"
        "torch-cuda: backend (cuda) does not match system backend (rocm) and is not universal\n\n"
        "no variant for rocm72 among 1 found; skipped 2 not named like a variant: build.log, old\n"
        "  hint: ask its author for a build for this system, or build it with kernel-builder"
    )
    assert isinstance(error, FileNotFoundError)
    assert error.exit_code == 1


@pytest.mark.parametrize(
    ("names", "summary"),
    [
        pytest.param([], "no build variants found", id="no-or-empty-build-folder"),
        pytest.param(
            ["x", "y"],
            "no build variants found; skipped 2 not named like a variant: x, y",
            id="only-unparsable-names",
        ),
    ],
)
def test_no_variant_is_one_error_when_there_is_nothing(names: list[str], summary: str) -> None:
    # V15
    error = error_of(names, host_of(), revision="")
    assert str(error) == (
        f"Cannot find a build variant for this system in org/relu:\n\n{summary}\n"
        "  hint: check the repository and revision: builds are in build/<variant>"
    )


@pytest.mark.parametrize(
    ("names", "host", "hint"),
    [
        pytest.param(
            ["torch-cpu"], METAL, "found torch-cpu; pass backend='cpu' to use it", id="cpu-build"
        ),
        pytest.param(
            ["torch212-cxx11-rocm71-x86_64-linux", "torch211-cxx11-rocm72-x86_64-linux"],
            host_of("rocm72"),
            "torch212-cxx11-rocm71-x86_64-linux needs PyTorch 2.12 for rocm71; "
            "this environment has PyTorch 2.13.0 for rocm72",
            id="other-torch",
        ),
        pytest.param(
            ["torch213-cxx11-cpu-x86_64-linux"],
            host_of(torch=None),
            "torch213-cxx11-cpu-x86_64-linux needs PyTorch 2.13 for cpu; "
            "this environment has no PyTorch",
            id="no-torch",
        ),
        pytest.param(
            ["torch213-cxx11-cpu-aarch64-linux"],
            host_of(),
            "ask its author for a build for this system, or build it with kernel-builder",
            id="nothing-near",
        ),
    ],
)
def test_no_variant_gives_one_way_out(names: list[str], host: Host, hint: str) -> None:
    # V11: the first one.
    assert error_of(names, host).hint == hint

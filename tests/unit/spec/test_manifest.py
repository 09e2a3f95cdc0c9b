"""``build.toml``, edition 5."""

from __future__ import annotations

import pytest

from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.manifest import (
    BackendGeneral,
    CudaGeneral,
    General,
    HubTarget,
    Kernel,
    Manifest,
    Torch,
    TorchNoarch,
    TvmFfi,
    dumps,
    parse,
)
from kernelmill.spec.names import KernelName, RepoId

GENERAL = """\
[general]
name = "gemm"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu", "cuda", "rocm", "xpu"]
"""
TORCH = '[torch]\nsrc = ["torch-ext/binding.cpp"]\n'
KERNEL = '[kernel.gemm]\nbackend = "rocm"\ndepends = ["torch"]\nsrc = ["gemm/gemm.hip"]\n'
GOOD = GENERAL + TORCH + KERNEL


def faults_of(content: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        parse(content)
    assert caught.value.exit_code == 2
    assert str(caught.value) == "\n".join(map(str, caught.value.faults))
    return [str(it) for it in caught.value.faults]


def only_fault(content: str) -> str:
    (fault,) = faults_of(content)
    return fault


FULL_TEXT = """\
[general]
name = "flash-gemm"
version = 2
edition = 5
license = "Apache-2.0"
upstream = "https://example.org/up/gemm.git"
source = "git@example.org:me/gemm.git"
backends = ["cpu", "cuda", "rocm", "xpu", "neuron", "tpu"]
python-depends = ["einops"]
kernel-depends = [{ repo-id = "org/a", version = 3 }, { repo-id = "org/b", revision = "main" }]

[general.hub]
repo-id = "kernels-community/gemm"
branch = "next"

[general.cuda]
minver = "12.6"
maxver = "13.0"
python-depends = ["nvidia-cutlass-dsl"]
kernel-depends = [{ repo-id = "org/c", version = 0 }]

[general.neuron]
python-depends = ["nki"]

[general.tpu]

[general.xpu]
python-depends = ["onednn"]

[torch]
include = ["."]
minver = "2.10"
maxver = "2.13"
pyext = ["json", ".txt"]
src = ["torch-ext/binding.cpp", "./torch-ext/binding.h"]
stable-abi = { cuda = "2.9", rocm = "2.10" }
cxx-flags = ["-O3", "-O3"]

[kernel.gemm-cuda]
backend = "cuda"
depends = ["torch", "cutlass_4_0"]
src = ["gemm/gemm.cu"]
include = ["gemm/include"]
cuda-capabilities = ["9.0a", "10.0f", "12.0+PTX"]
cuda-flags = ["-Xptxas", "-v"]
cuda-minver = "12.8"

[kernel.gemm_rocm]
backend = "rocm"
depends = []
src = ["gemm/gemm.hip", "gemm/gemm.h"]
rocm-archs = ["gfx942", "gfx90a"]
hip-flags = ["-O2"]

[kernel.gemm_xpu]
backend = "xpu"
depends = ["sycl_tla"]
src = ["gemm/gemm.sycl"]
sycl-flags = ["-g"]

[kernel.gemm_cpu]
backend = "cpu"
depends = ["torch"]
src = ["gemm/gemm.cpp"]
cxx-flags = ["-mavx2"]
"""


def dependency(name: str, **pin: int | str) -> KernelDependency:
    version, revision = pin.get("version"), pin.get("revision")
    return KernelDependency(
        repo_id=RepoId(namespace="org", name=name),
        version=version if isinstance(version, int) else None,
        revision=revision if isinstance(revision, str) else None,
    )


FULL = Manifest(
    edition=5,
    general=General(
        name=KernelName(value="flash-gemm"),
        version=2,
        license="Apache-2.0",
        upstream="https://example.org/up/gemm.git",
        source="git@example.org:me/gemm.git",
        backends=(
            Backend.CPU,
            Backend.CUDA,
            Backend.ROCM,
            Backend.XPU,
            Backend.NEURON,
            Backend.TPU,
        ),
        python_depends=("einops",),
        kernel_depends=(dependency("a", version=3), dependency("b", revision="main")),
        hub=HubTarget(repo_id=RepoId(namespace="kernels-community", name="gemm"), branch="next"),
        cuda=CudaGeneral(
            minver=(12, 6),
            maxver=(13, 0),
            python_depends=("nvidia-cutlass-dsl",),
            kernel_depends=(dependency("c", version=0),),
        ),
        neuron=BackendGeneral(python_depends=("nki",)),
        tpu=BackendGeneral(),
        xpu=BackendGeneral(python_depends=("onednn",)),
    ),
    framework=Torch(
        include=(".",),
        minver=(2, 10),
        maxver=(2, 13),
        pyext=("json", "txt"),
        src=("torch-ext/binding.cpp", "torch-ext/binding.h"),
        stable_abi={Backend.CUDA: (2, 9), Backend.ROCM: (2, 10)},
        cxx_flags=("-O3", "-O3"),
    ),
    kernels=(
        Kernel(
            name="gemm-cuda",
            backend=Backend.CUDA,
            depends=("torch", "cutlass_4_0"),
            src=("gemm/gemm.cu",),
            include=("gemm/include",),
            cuda_capabilities=("9.0a", "10.0f", "12.0+PTX"),
            cuda_flags=("-Xptxas", "-v"),
            cuda_minver=(12, 8),
        ),
        Kernel(
            name="gemm_rocm",
            backend=Backend.ROCM,
            depends=(),
            src=("gemm/gemm.hip", "gemm/gemm.h"),
            rocm_archs=("gfx942", "gfx90a"),
            hip_flags=("-O2",),
        ),
        Kernel(
            name="gemm_xpu",
            backend=Backend.XPU,
            depends=("sycl_tla",),
            src=("gemm/gemm.sycl",),
            sycl_flags=("-g",),
        ),
        Kernel(
            name="gemm_cpu",
            backend=Backend.CPU,
            depends=("torch",),
            src=("gemm/gemm.cpp",),
            cxx_flags=("-mavx2",),
        ),
    ),
)


def test_manifest_is_read_in_all_its_keys() -> None:
    assert parse(FULL_TEXT) == FULL


def test_manifest_survives_the_round_trip_when_full() -> None:
    assert parse(dumps(FULL)) == FULL
    assert dumps(parse(dumps(FULL))) == dumps(FULL)


def test_manifest_is_written_in_a_fixed_order_without_defaults() -> None:
    assert dumps(parse(GOOD)) == (
        '[general]\nedition = 5\nname = "gemm"\nversion = 1\nlicense = "Apache-2.0"\n'
        'backends = ["cpu", "cuda", "rocm", "xpu"]\n\n'
        f"{TORCH}\n{KERNEL}"
    )


def test_kernels_for_gives_those_of_one_backend() -> None:
    assert [it.name for it in FULL.kernels_for(Backend.ROCM)] == ["gemm_rocm"]
    assert FULL.kernels_for(Backend.METAL) == ()


def test_python_only_kernel_needs_no_sources() -> None:
    text = '[torch-noarch]\npyext = ["json"]\nrocm_archs = ["gfx942"]\ncuda_capabilities = ["9.0"]'
    manifest = parse(GENERAL + text)
    assert manifest.framework == TorchNoarch(
        pyext=("json",), rocm_archs=("gfx942",), cuda_capabilities=("9.0",)
    )
    assert parse(dumps(manifest)) == manifest


def test_tvm_ffi_kernel_is_read() -> None:
    manifest = parse(GENERAL + '[tvm-ffi]\nsrc = ["a.cc"]\n' + KERNEL)
    assert manifest.framework == TvmFfi(src=("a.cc",))
    assert parse(dumps(manifest)) == manifest


def test_one_stable_abi_version_counts_for_every_backend() -> None:
    manifest = parse(GENERAL + TORCH + 'stable-abi = "2.10"\n' + KERNEL)
    assert isinstance(manifest.framework, Torch)
    assert manifest.framework.stable_abi == dict.fromkeys(manifest.general.backends, (2, 10))


def test_every_mistake_is_reported_with_its_line() -> None:
    content = """\
[general]
nmae = "gemm"
version = "1"
edition = 5
license = "Apache-2.0"
backends = ["rocm", "metall"]

[torch]
src = [
  "torch-ext/a.cpp",
  "../b.cpp",  # outside
]
stable_abi = "2.9"

[kernel.gemm]
backend = "rocm"
src = ["gemm.hip"]
rocm-archs = ["MI300X"]
cuda-flags = ["-O3"]

[kernel.cpu]
backend = "cpu"
depends = ["troch"]
src = "gemm.cpp"
"""
    assert faults_of(content) == [
        "build.toml:1 general: missing key 'name'",
        "build.toml:2 general.nmae: unknown key 'nmae'\n  hint: did you mean 'name'?",
        "build.toml:3 general.version: '1' is a string\n  hint: write a whole number",
        "build.toml:6 general.backends[1]: unknown backend 'metall'\n"
        "  hint: did you mean 'metal'? "
        "allowed: cann, cpu, cuda, metal, neuron, rocm, tpu, xpu",
        "build.toml:11 torch.src[1]: path '../b.cpp' leaves the repository\n"
        "  hint: copy the files into the kernel's repository",
        "build.toml:13 torch.stable_abi: unknown key 'stable_abi'\n"
        "  hint: did you mean 'stable-abi'?",
        "build.toml:15 kernel.gemm: missing key 'depends'\n  hint: add depends = [\"torch\"]",
        "build.toml:18 kernel.gemm.rocm-archs[0]: unknown arch 'MI300X'\n"
        "  hint: AMD architectures are written gfx942, gfx90a, gfx1100",
        "build.toml:19 kernel.gemm.cuda-flags: unknown key 'cuda-flags'\n"
        "  hint: cuda-flags belongs to kernels with backend = 'cuda'",
        "build.toml:22 kernel.cpu.backend: backend 'cpu' is not in general.backends\n"
        '  hint: add "cpu" to backends in [general], or remove this',
        "build.toml:23 kernel.cpu.depends[0]: unknown library 'troch'\n"
        "  hint: did you mean 'torch'? allowed: torch, cutlass_2_10, cutlass_3_5, cutlass_3_6, "
        "cutlass_3_8, cutlass_3_9, cutlass_4_0, cutlass_4_4, cutlass_4_5, sycl_tla, metal-cpp",
        "build.toml:24 kernel.cpu.src: 'gemm.cpp' is a string\n  hint: write an array",
    ]


def test_mistakes_have_a_summary_with_their_number() -> None:
    with pytest.raises(ManifestError) as caught:
        parse(GOOD.replace("version", "vresion"), where="sub/build.toml")
    assert caught.value.problem == "2 mistakes in sub/build.toml"
    assert caught.value.where == "sub/build.toml"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(
            GENERAL + "[torch\n",
            "build.toml:7: not valid TOML: Expected ']' at the end of a table declaration",
            id="syntax",
        ),
        pytest.param(
            "[general]\nname =",
            "build.toml:2: not valid TOML: Invalid value",
            id="syntax-at-the-end",
        ),
        pytest.param(
            "x = " + "[" * 100_000, "build.toml:1: not valid TOML: ", id="too-deep-to-read"
        ),
        pytest.param(
            GOOD + KERNEL,
            "build.toml:13: kernel 'gemm' is declared twice\n"
            "  hint: give each kernel a name of its own",
            id="duplicate-kernel",
        ),
        pytest.param(
            GOOD.replace("version = 1", 'version = 1\nname = "x"'),
            "build.toml:4: not valid TOML: Cannot overwrite a value",
            id="duplicate-key",
        ),
        pytest.param(
            GOOD.replace("edition = 5", "edition = 6"),
            "build.toml:4 general.edition: edition 6 is not supported: a file can name 5 only\n"
            "  hint: upgrade kernelmill",
            id="edition-newer",
        ),
        pytest.param(
            GOOD.replace("edition = 5", "edition = 4"),
            "build.toml:4 general.edition: edition 4 is not supported: a file can name 5 only\n"
            "  hint: write edition = 5, or remove the key: older editions have none",
            id="edition-older",
        ),
        pytest.param(
            GOOD.replace("edition = 5", 'edition = "5"'),
            "build.toml:4 general.edition: edition '5' is not supported: a file can name 5 only",
            id="edition-of-wrong-type",
        ),
        pytest.param("", "build.toml: missing key 'general'", id="empty-file"),
        pytest.param(
            "general = 5\n" + TORCH,
            "build.toml:1 general: 5 is a number\n  hint: write a table",
            id="general-of-wrong-type",
        ),
    ],
)
def test_first_fault_says_what_kind_of_file_it_is(content: str, fault: str) -> None:
    assert faults_of(content)[0].startswith(fault)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(
            GENERAL + KERNEL,
            "build.toml: exactly one framework table is needed, found none\n"
            "  hint: keep one of [torch], [torch-noarch] and [tvm-ffi]",
            id="no-framework",
        ),
        pytest.param(
            GOOD + '[tvm-ffi]\nsrc = ["a.cc"]\n',
            "build.toml:13 tvm-ffi: exactly one framework table is needed, "
            "found [torch] and [tvm-ffi]\n"
            "  hint: keep one of [torch], [torch-noarch] and [tvm-ffi]",
            id="two-frameworks",
        ),
        pytest.param(
            GENERAL + "[torch]\n" + KERNEL,
            "build.toml:7 torch: missing key 'src'\n"
            "  hint: list the binding's sources, or use [torch-noarch] for Python only",
            id="no-binding-sources",
        ),
        pytest.param(
            GOOD.replace('["torch-ext/binding.cpp"]', "[]"),
            "build.toml:8 torch.src: empty array\n  hint: list at least one, or remove the key",
            id="empty-binding-sources",
        ),
        pytest.param(
            GOOD.replace('["gemm/gemm.hip"]', "[]"),
            "build.toml:12 kernel.gemm.src: empty array\n"
            "  hint: list at least one, or remove the key",
            id="empty-kernel-sources",
        ),
        pytest.param(
            GENERAL + "[torch-noarch]\n" + KERNEL,
            "build.toml:8 kernel: [torch-noarch] compiles nothing\n"
            "  hint: remove it, or use [torch] for compiled kernels",
            id="noarch-with-kernels",
        ),
        pytest.param(
            GENERAL + '[torch-noarch]\nrocm-archs = ["gfx942"]\n',
            "build.toml:8 torch-noarch.rocm-archs: unknown key 'rocm-archs'\n"
            "  hint: write rocm_archs here, with an underscore",
            id="noarch-dash",
        ),
        pytest.param(
            GOOD.replace('["cpu", "cuda", "rocm", "xpu"]', '["rocm", "rocm"]'),
            "build.toml:6 general.backends[1]: 'rocm' is listed twice\n  hint: keep one of the two",
            id="duplicate-backend",
        ),
        pytest.param(
            GOOD.replace('"rocm"\ndepends', '"tpu"\ndepends').replace('"xpu"]', '"tpu"]'),
            "build.toml:10 kernel.gemm.backend: no kernels are compiled for 'tpu'\n"
            "  hint: allowed: cpu, cuda, metal, rocm, xpu",
            id="backend-without-kernels",
        ),
        pytest.param(
            GOOD.replace('backend = "rocm"\n', ""),
            "build.toml:9 kernel.gemm: missing key 'backend'\n"
            "  hint: add one of cpu, cuda, metal, rocm, xpu",
            id="kernel-without-backend",
        ),
        pytest.param(
            GOOD.replace('backend = "rocm"', 'backend = "rcom"\nhip-flags = ["-g"]'),
            "build.toml:10 kernel.gemm.backend: unknown backend 'rcom'\n"
            "  hint: did you mean 'rocm'? allowed: cann, cpu, cuda, metal, neuron, rocm, tpu, xpu",
            id="misspelt-backend-blames-no-other-key",
        ),
        pytest.param(
            GOOD + 'rocm-archs = ["gfx942:xnack-"]\n',
            "build.toml:13 kernel.gemm.rocm-archs[0]: arch 'gfx942:xnack-' has feature flags\n"
            '  hint: write "gfx942"',
            id="arch-with-flags",
        ),
        pytest.param(
            GOOD + "rocm-archs = []\n",
            "build.toml:13 kernel.gemm.rocm-archs: empty array\n"
            "  hint: list at least one, or remove the key",
            id="no-archs",
        ),
        pytest.param(
            GOOD.replace('"rocm"\ndep', '"cuda"\ncuda-capabilities = ["sm_90"]\ndep'),
            "build.toml:11 kernel.gemm.cuda-capabilities[0]: "
            "'sm_90' is not a compute capability\n"
            '  hint: write it as "9.0", "9.0a" or "12.0+PTX"',
            id="capability",
        ),
        pytest.param(
            GOOD.replace("[torch]\n", '[torch]\nminver = "2.13"\nmaxver = "2.9"\n'),
            "build.toml:8 torch.minver: minver is above maxver\n  hint: swap them, or drop one",
            id="version-range",
        ),
        pytest.param(
            GOOD.replace("[torch]\n", "[torch]\nminver = 2.13\n"),
            "build.toml:8 torch.minver: 2.13 is a number\n  hint: write a string",
            id="version-as-number",
        ),
        pytest.param(
            GOOD.replace("[torch]\n", '[torch]\nminver = "2.13.0"\n'),
            "build.toml:8 torch.minver: '2.13.0' is not a version\n"
            '  hint: write two numbers, such as "2.13"',
            id="version-with-three-parts",
        ),
        pytest.param(
            GOOD.replace("[torch]\n", '[torch]\nstable-abi = { metal = "2.9" }\n'),
            "build.toml:8 torch.stable-abi.metal: backend 'metal' is not in general.backends\n"
            '  hint: add "metal" to backends in [general], or remove this',
            id="stable-abi-of-other-backend",
        ),
        pytest.param(
            GOOD.replace("[torch]\n", "[torch]\nminver = 2024-01-01\n"),
            "build.toml:8 torch.minver: datetime.date(2024, 1, 1) is a date or time\n"
            "  hint: write a string",
            id="version-as-date",
        ),
        pytest.param(
            GENERAL + 'python-depends = ["einop"]\n' + TORCH + KERNEL,
            "build.toml:7 general.python-depends[0]: unknown Python dependency 'einop'\n"
            "  hint: did you mean 'einops'? allowed: einops, helion, tvm-ffi",
            id="python-depends",
        ),
        pytest.param(
            GENERAL + 'python-depends = ["nki"]\n' + TORCH + KERNEL,
            "build.toml:7 general.python-depends[0]: Python dependency 'nki' is for neuron only\n"
            "  hint: move it to [general.neuron]",
            id="python-depends-of-a-backend",
        ),
        pytest.param(
            GENERAL + 'kernel-depends = [{ repo-id = "org/a" }]\n' + TORCH + KERNEL,
            "build.toml:7 general.kernel-depends[0]: either version or revision must be given\n"
            "  hint: add version = 1",
            id="kernel-depends-without-pin",
        ),
        pytest.param(
            GENERAL
            + 'kernel-depends = [\n{ repo-id = "org/a", version = 1 },\n'
            + '{ repo-id = "org/a", version = 2 }]\n'
            + TORCH
            + KERNEL,
            "build.toml:9 general.kernel-depends[1]: 'org/a' is listed twice\n"
            "  hint: keep one of the two",
            id="kernel-depends-twice",
        ),
        pytest.param(
            GENERAL
            + 'kernel-depends = [{ repo-id = "org/a", version = 1, tag = "x" }]\n'
            + TORCH
            + KERNEL,
            "build.toml:7 general.kernel-depends[0].tag: unknown key 'tag'\n"
            "  hint: allowed here: repo-id, revision, version",
            id="kernel-depends-unknown-key",
        ),
        pytest.param(
            GENERAL + 'source = "example.org/gemm"\n' + TORCH + KERNEL,
            "build.toml:7 general.source: 'example.org/gemm' is not a git URL\n"
            "  hint: write it as https://example.org/owner/name",
            id="git-url",
        ),
        pytest.param(
            GENERAL + '[general.hub]\nrepo_id = "org/gemm"\n' + TORCH + KERNEL,
            "build.toml:8 general.hub.repo_id: unknown key 'repo_id'\n"
            "  hint: did you mean 'repo-id'?",
            id="hub-key",
        ),
        pytest.param(
            GOOD + "[kernels]\n",
            "build.toml:13 kernels: unknown key 'kernels'\n  hint: did you mean 'kernel'?",
            id="top-level-key",
        ),
        pytest.param(
            GENERAL + TORCH + '[kernel]\nsrc = "a"\n',
            "build.toml:10 kernel.src: 'a' is a string\n  hint: write a table",
            id="kernel-without-name",
        ),
        pytest.param(
            GOOD.replace("[kernel.gemm]", '[kernel."a b"]'),
            "build.toml:9 kernel.a b: invalid kernel table name 'a b'\n"
            "  hint: use letters, digits, dashes and underscores",
            id="kernel-with-bad-name",
        ),
        pytest.param(
            GOOD.replace('name = "gemm"', 'name = "My_Gemm"'),
            "build.toml:2 general.name: invalid kernel name 'My_Gemm'\n"
            "  hint: start with a-z, use only a-z, 0-9 and single dashes, "
            "end with a letter or digit, at least two characters: "
            "my-kernel, relu2d, flash-attention",
            id="name",
        ),
        pytest.param(
            GOOD.replace('"Apache-2.0"', '" "'),
            "build.toml:5 general.license: empty string\n  hint: write a value or remove the key",
            id="empty-license",
        ),
    ],
)
def test_one_mistake_gives_one_fault(content: str, fault: str) -> None:
    assert only_fault(content) == fault


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/etc/x.hip", "is not relative"),
        ("~/x.hip", "is not relative"),
        ("C:/x.hip", "is not relative"),
        ("gemm\\\\x.hip", "is not relative"),
        ("../x.hip", "leaves the repository"),
        ("gemm/../x.hip", "leaves the repository"),
        ("..", "leaves the repository"),
        ("gemm/$(touch x).hip", "holds a character that build tools mistake"),
        ("gemm/a;b.hip", "holds a character that build tools mistake"),
        ("gemm/it's.hip", "holds a character that build tools mistake"),
        ("gemm/`x`.hip", "holds a character that build tools mistake"),
        ("gemm/$<1:x>.hip", "holds a character that build tools mistake"),
    ],
)
@pytest.mark.parametrize("key", ["src", "include"])
def test_path_is_refused_when_outside(key: str, path: str, problem: str) -> None:
    content = GOOD.replace('src = ["gemm/gemm.hip"]\n', 'src = ["a.hip"]\ninclude = ["i"]\n')
    old = {"src": "a.hip", "include": "i"}[key]
    fault = only_fault(content.replace(f'"{old}"', f'"{path}"'))
    line = {"src": 12, "include": 13}[key]
    shown = path.replace("\\\\", "\\")
    assert fault.startswith(f"build.toml:{line} kernel.gemm.{key}[0]: path {shown!r} {problem}")


def test_path_is_a_duplicate_when_only_spelt_otherwise() -> None:
    fault = only_fault(GOOD.replace('["gemm/gemm.hip"]', '["gemm/a.hip", "./gemm//a.hip"]'))
    assert fault == (
        "build.toml:12 kernel.gemm.src[1]: 'gemm/a.hip' is listed twice\n"
        "  hint: keep one of the two"
    )


@pytest.mark.parametrize("depth", [1, 7, 100, 300, *range(445, 490, 4), 1000])
@pytest.mark.parametrize("nest", [("[", "]"), ("{ a = ", "}")], ids=["array", "table"])
def test_nesting_gives_faults_whatever_its_depth(depth: int, nest: tuple[str, str]) -> None:
    # Somewhere in this range the parsers' recursion ends: each in another place.
    value = nest[0] * depth + "1" + nest[1] * depth
    faults = faults_of(GOOD.replace("version = 1", f"version = {value}"))
    assert all(len(it) < 400 for it in faults)

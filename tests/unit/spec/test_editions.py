"""``build.toml`` before edition 5: read as edition 5, with mistakes in the file's own terms."""

from __future__ import annotations

import pytest

from kernelmill.spec.backend import Backend
from kernelmill.spec.editions.edits import Copy, Move, Put, Remove, apply, origin
from kernelmill.spec.editions.history import detect_edition
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.manifest import (
    UNKNOWN_LICENSE,
    CudaGeneral,
    LicenseHint,
    Torch,
    TorchNoarch,
    parse,
    places,
    read,
)

# M2: the shape of the example in the published guide.
GUIDE = """\
[general]
name = "gemm"
universal = false

[torch]
src = [
  "torch-ext/torch_binding.cpp",
  "torch-ext/torch_binding.h",
]

[kernel.gemm]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = ["gemm/gemm.h", "gemm/gemm.hip"]
include = ["include"]
"""
NAME = 'name = "fp8_gemm"'
TORCH = '[torch]\nsrc = ["t.cpp"]\n'
KERNEL = 'depends = ["torch"]\nsrc = ["k.cu"]\n'
V1 = f"""\
[general]
name = "norm"
{TORCH}
[kernel.norm]
language = "cuda-hipify"
cuda-capabilities = ["9.0a"]
rocm-archs = ["gfx942"]
{KERNEL}"""
V3 = f"""\
[general]
name = "norm"
backends = ["cuda"]
{TORCH}
[kernel.norm]
backend = "cuda"
{KERNEL}"""
V4 = V3.replace("backends", 'version = 2\nlicense = "MIT"\nsource = "https://a.org/b"\nbackends')


def faults_of(content: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        parse(content)
    return list(map(str, caught.value.faults))


def test_example_of_the_guide_is_edition_2() -> None:
    reading = read(GUIDE, license_hint=LicenseHint(expression="MIT", source="LICENSE"))
    assert reading.edition == 2
    assert reading.assumed == ("version 1", "license MIT (from LICENSE)")
    assert not reading.lacks_license
    manifest = reading.manifest
    assert (str(manifest.general.name), manifest.general.version) == ("gemm", 1)
    assert manifest.general.license == "MIT"
    assert manifest.general.backends == (Backend.ROCM,)
    kernel = manifest.kernels[0]
    assert (kernel.name, kernel.backend, kernel.rocm_archs) == ("gemm", Backend.ROCM, ("gfx942",))


def test_example_of_the_guide_is_read_without_a_license() -> None:
    reading = read(GUIDE)
    assert reading.lacks_license
    assert reading.manifest.general.license == UNKNOWN_LICENSE
    assert reading.assumed == ("version 1", "license LicenseRef-unknown, as none is named")


def test_hipify_kernel_becomes_two() -> None:
    reading = read(V1)
    assert reading.edition == 1
    manifest = reading.manifest
    assert manifest.general.backends == (Backend.CUDA, Backend.ROCM)
    assert [(it.name, it.backend) for it in manifest.kernels] == [
        ("norm", Backend.CUDA),
        ("norm_rocm", Backend.ROCM),
    ]
    cuda, rocm = manifest.kernels
    assert (cuda.cuda_capabilities, cuda.rocm_archs) == (("9.0a",), ())
    assert (rocm.cuda_capabilities, rocm.rocm_archs) == ((), ("gfx942",))
    assert cuda.src == rocm.src
    assert cuda.depends == rocm.depends


def test_second_half_of_a_hipify_kernel_needs_its_name() -> None:
    # M1
    assert faults_of(f'{V1}[kernel.norm_rocm]\nlanguage = "cuda"\n{KERNEL}') == [
        "build.toml:7 kernel.norm.language: kernel 'norm_rocm' exists already\n"
        "  hint: rename that kernel: this one becomes two, and the second takes its name"
    ]


def test_kernel_of_edition_1_is_for_cuda_unless_it_says_otherwise() -> None:
    content = V1.replace('language = "cuda-hipify"\n', "") + (
        f'[kernel.shade]\nlanguage = "metal"\n{KERNEL}'
    )
    reading = read(content)
    assert reading.edition == 1
    assert [(it.name, it.backend) for it in reading.manifest.kernels] == [
        ("norm", Backend.CUDA),
        ("shade", Backend.METAL),
    ]
    assert "rocm-archs of kernel 'norm' means nothing there" in reading.assumed


@pytest.mark.parametrize(
    ("content", "edition"),
    [
        ('[general]\nname = "norm"\n[torch]\nuniversal = true\n', 1),
        ('[general]\nname = "norm"\nuniversal = true\n', 2),
        ('[general]\nname = "norm"\nuniversal = true\n[torch]\npyext = ["json"]\n', 2),
    ],
)
def test_universal_without_kernels_is_python_only(content: str, edition: int) -> None:
    # M8
    reading = read(content)
    assert reading.edition == edition
    pyext = ("json",) if "json" in content else ()
    assert reading.manifest.framework == TorchNoarch(pyext=pyext)
    assert reading.manifest.general.backends == (
        Backend.CPU,
        Backend.CUDA,
        Backend.METAL,
        Backend.ROCM,
        Backend.XPU,
    )


def test_universal_with_kernels_is_compiled_for_every_backend() -> None:
    manifest = parse(GUIDE.replace("false", "true"))
    assert len(manifest.general.backends) == 5
    assert isinstance(manifest.framework, Torch)


def test_what_python_only_has_no_use_for_is_told() -> None:
    reading = read(f'[general]\nname = "norm"\nuniversal = true\n{TORCH}')
    assert reading.manifest.framework == TorchNoarch()
    assert "torch.src means nothing for Python only" in reading.assumed


def test_cuda_versions_of_edition_2_move_to_their_table() -> None:
    content = GUIDE.replace(
        "universal = false",
        'cuda-minver = "12.4"\ncuda-maxver = "12.8"\n'
        'python-depends = ["einops", "nvidia-cutlass-dsl"]',
    )
    general = parse(content).general
    assert general.cuda == CudaGeneral(
        minver=(12, 4), maxver=(12, 8), python_depends=("nvidia-cutlass-dsl",)
    )
    assert general.python_depends == ("einops",)


@pytest.mark.parametrize("content", [V1, GUIDE, V3, V4])
def test_underscores_in_an_old_name_become_dashes(content: str) -> None:
    reading = read(content.replace('name = "gemm"', NAME).replace('name = "norm"', NAME))
    name = reading.manifest.general.name
    assert (str(name), name.python_name) == ("fp8-gemm", "fp8_gemm")
    assert "the name 'fp8-gemm' for 'fp8_gemm': the Python name stays" in reading.assumed


def test_edition_3_may_leave_out_version_license_and_framework() -> None:
    reading = read('[general]\nname = "norm"\nbackends = ["cuda"]\n')
    assert reading.edition == 3
    assert reading.manifest.framework == TorchNoarch()
    assert (reading.manifest.general.version, reading.lacks_license) == (1, True)


def test_edition_4_says_everything_itself() -> None:
    reading = read(V4)
    assert (reading.edition, reading.assumed, reading.lacks_license) == (4, (), False)
    assert reading.edits == (Put(("general", "edition"), 5),)
    assert reading.manifest.general.license == "MIT"


def test_edition_5_needs_no_edits() -> None:
    reading = read(V4.replace("[general]", "[general]\nedition = 5"))
    assert (reading.edition, reading.edits, reading.assumed) == (5, (), ())


@pytest.mark.parametrize(
    ("document", "edition"),
    [
        pytest.param({}, 1, id="nothing"),
        pytest.param({"kernel": {"a": {"src": []}}}, 1, id="neither-language-nor-backend"),
        pytest.param({"kernel": {"a": {"backend": "cpu"}, "b": {"language": "x"}}}, 1, id="both"),
        pytest.param({"kernel": {"a": {"backend": "cpu"}}}, 2, id="backend"),
        pytest.param({"general": {"hub": {}}, "kernel": {"a": {}}}, 2, id="hub"),
        pytest.param({"torch": {"minver": "2.6"}}, 2, id="torch-minver"),
        pytest.param({"general": {"license": "MIT"}, "kernel": {"a": {"backend": "x"}}}, 3, id="3"),
        pytest.param({"torch-noarch": {}}, 3, id="noarch"),
        pytest.param({"general": {"backends": []}, "torch": {"stable-abi": "2.9"}}, 4, id="abi"),
        pytest.param({"general": {"backends": [], "source": ""}}, 4, id="source"),
        pytest.param({"general": {"version": 1, "license": ""}, "torch": {}}, 4, id="complete"),
        pytest.param({"general": 3, "kernel": 4, "torch": 5}, 1, id="no-tables"),
    ],
)
def test_edition_is_told_by_the_keys(document: dict[str, object], edition: int) -> None:
    assert detect_edition(document) == edition


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        pytest.param(
            V1.replace("cuda-hipify", "cuda-hippify"),
            [
                "build.toml:7 kernel.norm.language: unknown language 'cuda-hippify'\n"
                "  hint: did you mean 'cuda-hipify'? allowed: cuda, cuda-hipify, metal"
            ],
            id="language",
        ),
        pytest.param(
            V1.replace("rocm-archs", "rocm-arch"),
            [
                "build.toml:9 kernel.norm.rocm-arch: edition 1 has no key 'rocm-arch' here\n"
                "  hint: did you mean 'rocm-archs'?"
            ],
            id="key-of-edition-1",
        ),
        pytest.param(
            V1.replace("[torch]", "[torch]\nminver = '2.6'"),
            [
                "build.toml:4 torch.minver: edition 1 has no key 'minver' here\n"
                "  hint: edition 2 has it: "
                "remove it, run `kernel-builder update-build`, and write it again"
            ],
            id="key-of-a-later-edition",
        ),
        pytest.param(
            V4.replace("[torch]", "[general.tpu]\n[torch]"),
            [
                "build.toml:7 general.tpu: edition 4 has no key 'tpu' here\n"
                "  hint: edition 5 has it: add edition = 5 to [general]"
            ],
            id="table-of-a-later-edition",
        ),
        pytest.param(
            V4.replace("[torch]", '[torch]\nstable-abi = { cuda = "2.9" }'),
            [
                "build.toml:8 torch.stable-abi: edition 4 has one version for all backends\n"
                "  hint: edition 5 has a version per backend: add edition = 5 to [general]"
            ],
            id="stable-abi-per-backend",
        ),
        pytest.param(
            GUIDE.replace('"rocm"', '"metall"'),
            [
                "build.toml:12 kernel.gemm.backend: unknown backend 'metall'\n  hint: did you mean "
                "'metal'? allowed: cann, cpu, cuda, metal, neuron, rocm, tpu, xpu"
            ],
            id="backend",
        ),
        pytest.param(
            GUIDE.replace("false", '"no"'),
            ["build.toml:3 general.universal: 'no' is a string\n  hint: write true or false"],
            id="universal",
        ),
        pytest.param(
            GUIDE.replace("false", 'false\ncuda-minver = "12"'),
            [
                "build.toml:4 general.cuda-minver: '12' is not a version\n"
                '  hint: write two numbers, such as "2.13"'
            ],
            id="moved-key-keeps-its-place",
        ),
        pytest.param(
            V1.replace("k.cu", "/k.cu"),
            [
                "build.toml:11 kernel.norm.src[0]: path '/k.cu' is not relative\n"
                "  hint: write it relative to build.toml, with /"
            ],
            id="mistake-in-both-halves-is-told-once",
        ),
        pytest.param(
            f'[general]\nname = "norm"\n{TORCH}',
            [
                "build.toml:1 general: neither kernels nor universal = true: nothing to build\n"
                "  hint: add [kernel.NAME], or universal = true in [general] for Python only"
            ],
            id="nothing-to-build",
        ),
        pytest.param(
            V3.replace('"norm"\n', '"my--norm"\n'),  # R17
            [
                "build.toml:2 general.name: invalid kernel name 'my--norm'\n"
                "  hint: start with a-z, use only a-z, 0-9 and single dashes, end with a letter or "
                "digit, at least two characters: my-kernel, relu2d, flash-attention"
            ],
            id="name-that-a-hub-refuses",
        ),
        pytest.param(
            V3.replace('backends = ["cuda"]\n', 'license = "MIT"\n'),
            [
                "build.toml:1 general: missing key 'backends'\n"
                "  hint: list what to build for: cann, cpu, cuda, metal, neuron, rocm, tpu, xpu"
            ],
            id="edition-3-lists-its-backends",
        ),
        pytest.param(
            V3.replace(TORCH, ""),
            [
                "build.toml: exactly one framework table is needed, found none\n"
                "  hint: keep one of [torch], [torch-noarch] and [tvm-ffi]"
            ],
            id="kernels-need-a-framework",
        ),
        pytest.param(
            GUIDE.replace("rocm-archs", "rocm-arch").replace("false", "0").replace('"gemm"', "1"),
            [
                "build.toml:2 general.name: 1 is a number\n  hint: write a string",
                "build.toml:3 general.universal: 0 is a number\n  hint: write true or false",
                "build.toml:13 kernel.gemm.rocm-arch: edition 2 has no key 'rocm-arch' here\n"
                "  hint: did you mean 'rocm-archs'?",
            ],
            id="all-at-once",
        ),
    ],
)
def test_mistakes_are_told_in_the_terms_of_the_file(content: str, faults: list[str]) -> None:
    # M1
    assert faults_of(content) == faults


def test_place_of_a_value_is_where_the_file_has_it() -> None:
    found = places(V1)
    assert found.where(("kernel", "norm_rocm", "src", 0)) == "build.toml:11 kernel.norm.src[0]"
    assert found.where(("kernel", "norm", "backend")) == "build.toml:7 kernel.norm.language"


def test_edits_are_made_one_after_another() -> None:
    edits = (
        Move(("a", "b"), ("c", "d")),
        Copy(("c",), "e"),
        Put(("e", "f"), ("x",)),
        Put(("g",), None),
        Remove(("c", "d")),
    )
    document = {"a": {"b": 1, "z": 2}}
    assert apply(document, edits) == {"a": {"z": 2}, "c": {}, "e": {"d": 1, "f": ["x"]}, "g": {}}
    assert document == {"a": {"b": 1, "z": 2}}
    assert origin(("e", "d", 0), edits) == ("a", "b", 0)
    assert [str(it) for it in edits] == [
        "rename a.b to c.d",
        "copy c to e",
        'set e.f to ["x"]',
        "set g to an empty table",
        "remove c.d",
    ]

"""Lint of sources. Y14: fakes and mutation; L2: namespaces; C3: wave64 masks; F6: FP8 formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import FILES, MANIFEST, write_kernel

from kernelmill.builder.check.flags import check_flags
from kernelmill.builder.check.masks import check_masks
from kernelmill.builder.check.op_sources import read_operators
from kernelmill.builder.check.ops import (
    Operator,
    check_operators,
    check_registrations,
    split_schema,
)
from kernelmill.builder.cli import main

if TYPE_CHECKING:
    from pathlib import Path

BINDING = """\
#include "registration.h"
// TORCH_LIBRARY_EXPAND(fixed, ops) { ops.def("commented() -> ()"); }
void relu(torch::Tensor& out, const torch::Tensor& input) { launch(out, input); }

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("%s");
  ops.impl("relu", torch::kCPU, &relu);
}
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"""
CORRECT = "relu(Tensor! out, Tensor input) -> ()"
PYTHON = b"""
import torch
from ._ops import add_op_namespace_prefix, ops

@torch.library.register_fake(add_op_namespace_prefix("relu"))
def _(x): return torch.empty_like(x)
"""


def lint(binding: str, python: bytes = b"") -> list[str]:
    read = read_operators({"binding.cpp": binding}, {"__init__.py": python})
    findings = (*check_registrations(read.blocks), *check_operators(read.operators))
    return [finding.problem for finding in findings]


@pytest.mark.parametrize(
    ("schema", "python", "found"),
    [
        pytest.param(CORRECT, b"", [], id="c-correct"),
        pytest.param("relu(Tensor(a!) out, Tensor input) -> ()", b"", [], id="c-named-alias"),
        pytest.param(
            "relu(Tensor out, Tensor input) -> ()",
            b"",
            [
                "binding.cpp:6: operator relu: it returns nothing and declares no argument as "
                "written"
            ],
            id="b-undeclared-mutation",
        ),
        pytest.param(
            "relu(Tensor out, Tensor input) -> Tensor",
            PYTHON,
            [
                "binding.cpp:6: operator relu: the function may write out, and the schema does "
                "not say so"
            ],
            id="b-undeclared-and-returns",
        ),
        pytest.param(
            "relu(Tensor! out, Tensor input) -> Tensor",
            b"",
            [
                "binding.cpp:6: operator relu: it has no fake implementation, so torch.compile "
                "cannot trace it"
            ],
            id="a-no-fake",
        ),
        pytest.param("relu(Tensor! out, Tensor input) -> Tensor", PYTHON, [], id="c-fake"),
        pytest.param("relu(Tensor! out, int n=1) -> int", b"", [], id="returns-no-tensor"),
    ],
)
def test_y14_operators_can_be_traced(schema: str, python: bytes, found: list[str]) -> None:
    assert lint(BINDING % schema, python) == found


@pytest.mark.parametrize(
    ("cxx", "python"),
    [
        pytest.param(
            'TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, Meta, m) { m.impl("f", &meta); }',
            b"",
            id="meta-block",
        ),
        pytest.param(
            "STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CompositeImplicitAutograd, m) "
            '{ m.impl("f", TORCH_BOX(&f)); }',
            b"",
            id="composite",
        ),
        pytest.param(
            'TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) { m.impl("f", torch::kMeta, &meta); }',
            b"",
            id="key-in-arguments",
        ),
        pytest.param("", b'torch.library.register_fake(f"{ops.__name__}::f")(fake)', id="f-string"),
        pytest.param("", b"@torch.library.register_fake(ops.f)\ndef _(x): ...", id="operator"),
        pytest.param("", b'@torch.library.impl_abstract("k::f")\ndef _(x): ...', id="old-name"),
        pytest.param("", b'library.impl("f", fake, "Meta")', id="python-meta"),
    ],
)
def test_y14_fakes_are_written_in_many_ways(cxx: str, python: bytes) -> None:
    binding = 'TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m) { m.def("f(Tensor x) -> Tensor"); }\n'
    assert lint(binding + cxx, python) == []
    assert len(lint(binding)) == 1


def test_y14_long_schemas_and_inferred_ones_are_read() -> None:
    binding = """\
at::Tensor
scale(at::Tensor& x, double by) {
  return x;
}
TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {
  m.def("f(Tensor x, "
        "int[] sizes=[1, 2]) -> (Tensor, Tensor)");
  m.def("scale", &scale);
}
"""
    read = read_operators({"k.cpp": binding}, {})
    assert [(it.name, it.where, it.written) for it in read.operators] == [
        ("f", "k.cpp:6", ()),
        ("scale", "k.cpp:8", ("x",)),
    ]
    assert split_schema(read.operators[0].schema) == (
        ("Tensor x", "int[] sizes=[1, 2]"),
        "(Tensor, Tensor)",
    )
    assert [it.problem.partition(": ")[2] for it in check_operators(read.operators)] == [
        "operator f: it has no fake implementation, so torch.compile cannot trace it",
        "operator scale: the function may write x, and the schema does not say so",
    ]


def test_y14_operators_of_a_loaded_build_have_no_place() -> None:
    (finding,) = check_operators([Operator(name="f", schema="k::f(Tensor x) -> ()", has_fake=True)])
    assert finding.problem.startswith("operator f: it returns nothing")
    assert "Tensor! out" in finding.hint


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m) {}", []),
        (
            "\nTORCH_LIBRARY(moe, m) {}",
            ["binding.cpp:2: operators are registered under the fixed name 'moe'"],
        ),
        (
            "STABLE_TORCH_LIBRARY_IMPL(moe, CUDA, m) {}",
            ["binding.cpp:1: operators are registered under the fixed name 'moe'"],
        ),
        ("#define MINE(NAME, M) \\\n  TORCH_LIBRARY(NAME, M) {}", []),
    ],
)
def test_l2_operators_have_a_namespace_of_their_own(head: str, found: list[str]) -> None:
    assert lint(head) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "x = __shfl_xor_sync(0xffffffff, x, 1);",
            ["k.hip:1: __shfl_xor_sync with the 32-bit mask 0xffffffff"],
            id="shuffle",
        ),
        pytest.param(
            "\n\nint n = __ballot_sync(0xFFFFFFFFu, p);",
            ["k.hip:3: __ballot_sync with the 32-bit mask 0xFFFFFFFFu"],
            id="ballot",
        ),
        pytest.param(
            "__syncwarp(~0u);", ["k.hip:1: __syncwarp with the 32-bit mask ~0u"], id="not"
        ),
        pytest.param(
            "x = __shfl_down_sync(\n    UINT32_MAX, x, 2);",
            ["k.hip:1: __shfl_down_sync with the 32-bit mask UINT32_MAX"],
            id="two-lines",
        ),
        pytest.param(
            "#define FULL_MASK 0xffffffff",
            ["k.hip:1: FULL_MASK is the 32-bit mask 0xffffffff"],
            id="macro",
        ),
        pytest.param(
            "constexpr uint64_t kMask = 0xffffffffull;",
            ["k.hip:1: kMask is the 32-bit mask 0xffffffffull"],
            id="constant",
        ),
        pytest.param("__shfl_sync(0xffffffffffffffffull, x, 0);", [], id="portable"),
        pytest.param("__shfl_sync(~0ull, x, 0); __shfl(x, 0);", [], id="others"),
        pytest.param("// __shfl_sync(0xffffffff, x, 0)\n/* FULL_MASK = ~0u */", [], id="comment"),
        pytest.param(
            "#ifdef USE_ROCM\n__shfl(x, 0);\n#else\n__shfl_sync(0xffffffff, x, 0);\n#endif\n"
            "__syncwarp(0xffffffff);",
            ["k.hip:6: __syncwarp with the 32-bit mask 0xffffffff"],
            id="nvidia-branch",
        ),
        pytest.param(
            "#ifndef USE_ROCM\n__syncwarp(~0u);\n#else\n#if N\n__syncwarp(~0u);\n#endif\n#endif",
            ["k.hip:5: __syncwarp with the 32-bit mask ~0u"],
            id="amd-branch",
        ),
    ],
)
def test_c3_masks_are_as_wide_as_a_wave(text: str, found: list[str]) -> None:
    assert [finding.problem for finding in check_masks({"k.hip": text})] == found


@pytest.mark.parametrize(
    ("flags", "archs", "found"),
    [
        pytest.param(["-DUSE_FP8_FNUZ"], ["gfx942"], [], id="one-architecture"),
        pytest.param(
            ["-O3", "-DUSE_FP8_FNUZ=1"],
            ["gfx942", "gfx950"],
            ["k: -DUSE_FP8_FNUZ is the same for gfx942, gfx950"],
            id="two",
        ),
        pytest.param(
            ["-DFP8_OCP", "-DHAS_MI300"],
            [],
            [
                "k: -DFP8_OCP is the same for every architecture",
                "k: -DHAS_MI300 is the same for every architecture",
            ],
            id="unknown",
        ),
        pytest.param(["-DUSE_ROCM", "-DTILE_128=1"], ["gfx942", "gfx950"], [], id="others"),
    ],
)
def test_f6_format_is_no_matter_of_the_command_line(
    flags: list[str], archs: list[str], found: list[str]
) -> None:
    assert [it.problem for it in check_flags(flags, archs=archs, where="k")] == found


def test_check_config_warns_and_strict_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = FILES | {
        "torch-ext/binding.cpp": BINDING % "relu(Tensor out, Tensor input) -> ()",
        "relu/relu.hip": "__syncwarp(0xffffffff);\n",
        "relu/relu.cpp": "#define CUDA_MASK 0xffffffff\n",
        "torch-ext/my_relu/__init__.py": "import my_relu.layers\n",
    }
    manifest = MANIFEST + 'hip-flags = ["-DFP8_FNUZ"]\n'
    folder = str(write_kernel(tmp_path, manifest.replace('"gfx942"', '"gfx942", "gfx950"'), files))
    assert main(["check-config", "--json", folder]) == 0
    output = capsys.readouterr()
    assert [it["problem"] for it in json.loads(output.out)["warnings"]] == [
        "torch-ext/binding.cpp:6: operator relu: it returns nothing and declares no argument as "
        "written",
        "relu/relu.hip:1: __syncwarp with the 32-bit mask 0xffffffff",
        "build.toml:21 kernel.relu_rocm.hip-flags: -DFP8_FNUZ is the same for gfx942, gfx950",
        "torch-ext/my_relu/__init__.py:1: absolute import of 'my_relu.layers'",
    ]
    assert "warning: relu/relu.hip:1: __syncwarp" in output.err
    assert main(["check-config", "--strict", folder]) == 1
    assert "4 warnings, and --strict is given" in capsys.readouterr().err

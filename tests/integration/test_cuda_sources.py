"""CUDA sources built for AMD GPUs through the command line, and run on the emulated one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

import pytest
from tests.integration.test_kernel_tests import IGNORE, builder, run_module, trials

pytest.importorskip("torch")
pytest.importorskip("ziglang")
EXTENSION: Final = Path(__file__).parent / "cuda_extension"
SOURCE: Final = "activation/silu_and_mul.cu"


@pytest.fixture(scope="module")
def activation(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("cuda") / "activation"
    shutil.copytree(root / "examples/activation", folder, ignore=IGNORE)
    before = contents(folder)
    builder("build", folder, "--backend", "rocm", cwd=folder)
    assert contents(folder) == before, "the build changed the sources"
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    paths = (it for it in folder.rglob("*") if it.is_file())
    found = {it.relative_to(folder).as_posix(): it.read_bytes() for it in paths}
    return {it: text for it, text in found.items() if not it.startswith(("build/", ".kernelmill/"))}


def test_cuda_source_gives_right_numbers_on_the_emulated_gpu(activation: Path) -> None:
    (trial,) = trials(activation, "--emulate", "--sanitize")
    tests = trial["tests"]
    assert (tests["failed"], tests["skipped"]) == (0, 0)
    assert tests["passed"] >= 17


def test_binary_names_the_original_sources_alone(activation: Path) -> None:
    (library,) = activation.glob("build/*/*.so")
    data = library.read_bytes()
    assert b"hipified" not in data
    assert str(activation).encode() not in data


def test_c4_what_cannot_be_translated_is_one_error_by_name(
    activation: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(activation, tmp_path / "copy", ignore=IGNORE)
    source = copy / SOURCE
    text = source.read_text("utf-8")
    source.write_text(f"#include <mma.h>\n{text}\nvoid f() {{ cudaFoo(); }}\n", "utf-8")
    done = run_module("kernelmill.builder", "build", copy, "--backend", "rocm", cwd=copy)
    line = text.count("\n") + 3
    assert done.returncode == 2
    assert (
        f"{SOURCE}:1: CUDA that has no counterpart in HIP: 'mma.h' ({SOURCE}:1), "
        f"'cudaFoo' ({SOURCE}:{line})"
    ) in done.stderr
    assert "between #if defined(USE_ROCM) and #else" in done.stderr


@pytest.mark.long
def test_c6_unnamed_header_is_refused_by_its_own_path(activation: Path, tmp_path: Path) -> None:
    """Headers that are compiled in as copies count as the originals do."""
    copy = shutil.copytree(activation, tmp_path / "copy", ignore=IGNORE)
    manifest = copy / "build.toml"
    text = manifest.read_text("utf-8").replace('"activation/numeric.cuh", ', "")
    text = text.replace('include = ["activation"]\n', "").replace(
        'src = ["torch-ext/torch_binding.cpp"]',
        'src = ["torch-ext/torch_binding.cpp"]\ninclude = ["other"]',
    )
    manifest.write_text(text, "utf-8")
    (copy / "other").mkdir()
    (copy / "other/silu_and_mul.h").write_text('#include "../activation/silu_and_mul.h"\n')
    done = run_module("kernelmill.builder", "build", copy, "--backend", "rocm", cwd=copy)
    assert done.returncode == 1, done.stderr
    assert "activation/numeric.cuh is compiled in, but build.toml does not name it" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ["cuda_extension", "seed-era"])
def test_repository_builds_as_it_is(name: str, tmp_path: Path, root: Path) -> None:
    """One with all of torch's headers in its .cu file, and one in the layout of 2025."""
    origin = EXTENSION if name == EXTENSION.name else root / "examples" / name
    copy = shutil.copytree(origin, tmp_path / name, ignore=IGNORE)
    document = json.loads(builder("build", copy, "--json", cwd=copy))
    assert document["variants"][0]["cross"] is True
    (trial,) = trials(copy, "--emulate")
    assert (trial["tests"]["passed"], trial["tests"]["failed"]) == (4, 0)

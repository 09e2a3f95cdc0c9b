"""Generated files, compared with folders: ``pytest tests/golden --update-golden`` rewrites them.

Python files in these folders end in ``.golden``: they are data, and neither tests nor our style.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.unit.builder.fakes import toolchain

from kernelmill.builder.backends import rules_for
from kernelmill.builder.hip.project import recipe_files
from kernelmill.builder.plan import plan_build
from kernelmill.builder.render import render_project
from kernelmill.builder.render.template import read_template
from kernelmill.builder.scaffold import scaffold
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend
from kernelmill.spec.names import KernelName, RepoId

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

CASES: Final = Path(__file__).parent / "builder"
SUFFIX: Final = ".golden"


@pytest.fixture
def is_update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


def read_folder(folder: Path) -> dict[str, str]:
    """Return path -> text of the golden files below ``folder``, under their real names."""
    paths = sorted(it for it in folder.rglob("*") if it.is_file())
    return {
        it.relative_to(folder).as_posix().removesuffix(SUFFIX): it.read_text("utf-8")
        for it in paths
    }


def write_folder(folder: Path, texts: Mapping[str, str], *, suffix: str = "") -> None:
    for path, text in texts.items():
        place = folder / (path + suffix if path.endswith(".py") else path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def compare(texts: Mapping[str, str], expected: Path, *, is_update: bool) -> None:
    if is_update:
        shutil.rmtree(expected, ignore_errors=True)
        write_folder(expected, texts, suffix=SUFFIX)
    assert texts == read_folder(expected)


def fixed_files(backends: Collection[Backend]) -> dict[str, str]:
    """Return the files of a project that are the same for every kernel: no golden copies of them.

    Real builds test what they do: ``tests/integration``.
    """
    names = ["cmake/kernel.cmake", "cmake/torch.cmake", "cmake/torch_facts.py", "cmake/_ops.py.in"]
    names += ["cmake/abi_stubs.cmake", "torch-ext/registration.h"]
    names += [f"cmake/{backend}.cmake" for backend in backends]
    recipe = recipe_files() if Backend.ROCM in backends else {}
    return {name: read_template(f"project/{name}") for name in names} | recipe


@pytest.mark.parametrize("case", ["plain", "features"])
def test_project_is_as_expected(case: str, is_update: bool, tmp_path: Path) -> None:
    write_folder(tmp_path, read_folder(CASES / case / "kernel"))
    tree = read_tree(tmp_path)
    plans = [
        plan_build(tree, toolchain(), rules_for(backend))
        for backend in tree.manifest.general.backends
    ]
    texts = render_project(plans, root="../kernel").as_text()
    fixed = fixed_files(tree.manifest.general.backends)
    assert {path: texts.get(path) for path in fixed} == fixed
    own = {path: text for path, text in texts.items() if path not in fixed}
    compare(own, CASES / case / "expected", is_update=is_update)


def test_scaffold_is_as_expected(is_update: bool) -> None:
    files = scaffold(
        KernelName.parse("my-relu"),
        repo_id=RepoId.parse("someone/my-relu"),
        license_id="Apache-2.0",
        backends=(Backend.CPU, Backend.ROCM),
    )
    compare(files.as_text(), CASES / "scaffold/expected", is_update=is_update)


def test_scaffold_of_one_backend_has_no_trace_of_the_other() -> None:
    files = scaffold(
        KernelName.parse("my-relu"), repo_id=None, license_id="MIT", backends=(Backend.CPU,)
    ).as_text()
    assert "my_relu/relu_cpu.cpp" in files
    assert "my_relu/relu_rocm.hip" not in files
    assert "rocm" not in files["build.toml"]
    assert "general.hub" not in files["build.toml"]

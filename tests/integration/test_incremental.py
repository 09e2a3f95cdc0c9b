"""Only what changed is built again, IDEs are served, and no more compilers run than are allowed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.integration.small_matrix import NAMES, Bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = NAMES[2]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.env.pop("CXX")
    yield made
    made.end()


def steps(told: str) -> list[str]:
    """Return what was compiled and linked."""
    lines = (line.partition("] ")[2] for line in told.splitlines() if line.startswith("  ["))
    return [line for line in lines if line]


def test_only_what_changed_is_built_again(bench: Bench) -> None:
    arguments = ("--torch", "2.13", "--executor", "in-order", "--jobs", "1")
    status, found, told = bench.build(*arguments)
    assert status == 0, told
    module = f"link {found[NAME]['id']}.abi3.so"
    assert sorted(steps(told)) == ["compile binding.cpp", "compile host.cpp", module]
    work = bench.kernel / ".kernelmill" / NAME
    assert "-j 1\n" in (work / "build.log").read_text(), "C11: --jobs reaches the compilers"
    commands = json.loads((work / "cmake/compile_commands.json").read_text())
    sources = {it["file"].rpartition("/")[2] for it in commands}
    assert sources == {"binding.cpp", "host.cpp"}

    status, again, told = bench.build(*arguments)
    assert (status, steps(told)) == (0, []), "nothing changed"
    assert again[NAME]["id"] == found[NAME]["id"]

    # Another id gives the module another name: the binding, which has it, is compiled again.
    source = bench.kernel / "src/host.cpp"
    source.write_text(f"{source.read_text()}// changed\n")
    status, changed, told = bench.build(*arguments)
    assert status == 0, told
    assert changed[NAME]["id"] != found[NAME]["id"]
    assert f"link {changed[NAME]['id']}.abi3.so" in steps(told)
    folder = bench.kernel / "build" / NAME
    assert [it.name for it in folder.glob("*.so")] == [f"{changed[NAME]['id']}.abi3.so"]


def test_max_jobs_is_the_same_as_jobs(bench: Bench) -> None:
    bench.env["MAX_JOBS"] = "3"
    status, _, told = bench.build("--torch", "2.13", "--executor", "processes")
    assert status == 0, told
    assert f"building {NAME} with 3 jobs, against torch 2.13" in told
    log = bench.kernel / ".kernelmill" / NAME / "build.log"
    assert "-j 3\n" in log.read_text()

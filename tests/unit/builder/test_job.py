from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import toolchain, write_kernel

from kernelmill.builder import job as job_module
from kernelmill.builder.cli import main
from kernelmill.builder.cli.summary import outcome_json, summary
from kernelmill.builder.errors import CompileError, SdkError
from kernelmill.builder.job import Job, Outcome, Site, run_job
from kernelmill.builder.request import Goal
from kernelmill.builder.sdk.store import Store, missing
from kernelmill.builder.sources import read_tree
from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import HostError
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from kernelmill.builder.plan import BuildPlan

BUILT = Outcome(
    result="built",
    variant="torch213-cxx11-cpu-x86_64-linux",
    torch="2.13.0+cpu",
    is_installed=True,
    folder=Path("/k/build/torch213-cxx11-cpu-x86_64-linux"),
    id="_k_cpu_0123456789",
    seconds=2.25,
)
HEADERS = Outcome(
    result="built",
    variant="torch212-cxx11-rocm64-x86_64-linux",
    torch="2.12.0+cu130",
    folder=Path("/k/build/torch212-cxx11-rocm64-x86_64-linux"),
    id="_k_rocm_0123456789",
    archs=("gfx942",),
    is_cross=True,
    is_portable=True,
    seconds=3.0,
)
FAILED = Outcome(
    result="failed",
    variant="torch211-cxx11-cpu-x86_64-linux",
    torch="2.11.0",
    seconds=1.0,
    error=CompileError("the build failed:\na.cpp:1:1: error: no", hint="see the log"),
)
ABSENT = Outcome(
    result="unavailable",
    variant="torch210-cxx11-cpu-x86_64-linux",
    error=SdkError("the SDK torch-2.10 is not here", hint="kernel-builder sdk fetch torch-2.10"),
)


def test_summary_says_what_became_of_each_and_how_sure_it_is() -> None:
    assert summary([BUILT, HEADERS, FAILED, ABSENT]).splitlines() == [
        "torch213-cxx11-cpu-x86_64-linux     built in 2.2 s                                      "
        "  torch 2.13.0+cpu, installed",
        "torch212-cxx11-rocm64-x86_64-linux  built in 3.0 s                                      "
        "  compiled against the headers of torch 2.12.0+cu130",
        "torch211-cxx11-cpu-x86_64-linux     failed: the build failed:",
        "torch210-cxx11-cpu-x86_64-linux     cannot be built here: the SDK torch-2.10 is not here",
        "2 built, 1 failed, 1 cannot be built here, in 6 s",
    ]


def test_outcome_is_json_with_the_whole_error() -> None:
    document = outcome_json(FAILED)
    assert document["result"] == "failed"
    assert document["folder"] is None
    assert document["error"] == ("the build failed:\na.cpp:1:1: error: no\n  hint: see the log")
    assert outcome_json(HEADERS)["cross"] is True
    assert outcome_json(HEADERS)["installed"] is False


def goal(name: str) -> Goal:
    variant = parse_variant(name)
    assert isinstance(variant, ArchVariant)
    return Goal.of(variant)


def test_jobs_and_outcomes_can_be_sent(tmp_path: Path) -> None:
    job = Job(
        root=tmp_path, goal=goal("torch212-cxx11-rocm64-x86_64-linux"), env={"A": "b"}, python="py"
    )
    assert pickle.loads(pickle.dumps(job)) == job
    assert pickle.loads(pickle.dumps(BUILT)) == BUILT
    error = pickle.loads(pickle.dumps(FAILED)).error
    assert str(error) == str(FAILED.error)
    assert error.exit_code == 1
    absent = pickle.loads(pickle.dumps(missing("torch", "2.10")))
    assert (absent.name, str(absent)) == ("torch-2.10", str(missing("torch", "2.10")))
    assert pickle.loads(pickle.dumps(run_job)) is run_job


def site(root: Path) -> Site:
    return Site(
        tree=read_tree(write_kernel(root)),
        toolchain=toolchain(),
        store=Store(root / "sdks"),
        abi_stubs=None,
    )


def test_job_that_cannot_be_planned_is_an_outcome(tmp_path: Path) -> None:
    job = Job(root=tmp_path, goal=goal("torch212-cxx11-cpu-x86_64-linux"), env={}, python="py")
    told: list[str] = []
    outcome = run_job(job, site=site(tmp_path), tell=told.append)
    assert (outcome.result, outcome.variant) == ("unavailable", "torch212-cxx11-cpu-x86_64-linux")
    assert str(outcome.error).startswith("the SDK torch-2.12.0 is not here\n")
    assert told == []


def test_job_without_a_kernel_is_an_outcome(tmp_path: Path) -> None:
    outcome = run_job(Job(root=tmp_path, goal=Goal(backend=Backend.CPU), env={}, python="py"))
    assert (outcome.result, outcome.variant) == ("unavailable", "cpu")
    assert "no build.toml here" in str(outcome.error)


def test_failed_variant_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(plan: BuildPlan, *_: object, **__: object) -> None:
        raise HostError(f"no room for {plan.variant.compute}", hint="make some")

    monkeypatch.setattr(job_module, "build_variant", build)
    monkeypatch.setattr(job_module, "probe_toolchain", lambda *_, **__: toolchain())
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    assert (
        main(
            [
                "build",
                str(write_kernel(tmp_path / "kernel")),
                "--all",
                "--torch",
                "2.13",
                "--executor",
                "in-order",
            ]
        )
        == 3
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].startswith("[1/4] building torch213-cxx11-cpu-x86_64-linux with 4 jobs, ")
    assert "[4/4] torch213-cxx11-rocm72-x86_64-linux: no room for rocm72" in lines
    assert lines[-1].startswith("4 failed, in ")


def test_one_variant_fails_with_its_own_error_and_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job_module, "probe_toolchain", lambda *_, **__: toolchain())
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    root = str(write_kernel(tmp_path / "kernel"))
    assert main(["build", root, "--variant", "torch212-cxx11-cpu-x86_64-linux"]) == 3
    assert capsys.readouterr().err == (
        "kernel-builder: the SDK torch-2.12.0 is not here\n"
        "  hint: kernel-builder sdk fetch torch-2.12.0\n"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["--all", "--rocm", "7.1"], "--all names every variant already", id="rocm"),
        pytest.param(["--torch", "2.12"], "choose from the matrix\n  hint: add --all", id="torch"),
        pytest.param(
            ["--all", "--available", "--executor", "dask://a:1"],
            "--available looks at this machine, and a cluster builds on others",
            id="cluster",
        ),
        pytest.param(["--all", "--torch", "3.0"], "no torch 3.0 in the matrix", id="unknown"),
        pytest.param(
            ["--all", "--torch", "2.12", "--available"], "there is nothing to build", id="nothing"
        ),
    ],
)
def test_build_refuses_before_it_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    text: str,
) -> None:
    monkeypatch.setattr(job_module, "probe_toolchain", lambda *_, **__: toolchain())
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    assert main(["build", str(write_kernel(tmp_path / "kernel")), *arguments]) == 2
    assert text in capsys.readouterr().err


def test_manylinux_needs_its_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    assert main(["build", str(write_kernel(tmp_path / "kernel")), "--manylinux"]) == 3
    assert "hint: kernel-builder sdk fetch abi-stubs-2.28" in capsys.readouterr().err

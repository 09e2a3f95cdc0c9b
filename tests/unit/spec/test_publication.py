"""What an upload contains and where it goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidName, PublicationError
from kernelmill.spec.manifest import HubTarget
from kernelmill.spec.metadata import Metadata
from kernelmill.spec.names import RepoId
from kernelmill.spec.publication import (
    BuiltVariant,
    Publication,
    Upload,
    plan_publication,
)

CPU_METADATA = Metadata(
    name="my-gemm", id="_my_gemm_cpu_1", version=1, license="MIT", backend=Backend.CPU
)
CPU = BuiltVariant(
    folder="torch213-cxx11-cpu-x86_64-linux",
    metadata=CPU_METADATA,
    files=("metadata.json", "__init__.py", "gemm.abi3.so"),
)
ROCM = BuiltVariant(
    folder="result/torch213-cxx11-rocm71-x86_64-linux",
    metadata=replace(CPU_METADATA, backend=Backend.ROCM),
    files=("my_gemm/__init__.py", "metadata.json"),
)
TARGET = HubTarget(repo_id=RepoId(namespace="kernels-community", name="gemm"), branch=None)


def plan(
    *variants: BuiltVariant,
    repo_id: str | None = None,
    branch: str | None = None,
    hub_target: HubTarget | None = TARGET,
) -> Publication:
    return plan_publication(
        variants=variants,
        card="CARD.md",
        benchmarks=("benchmarks/benchmark_b.py", "benchmarks/benchmark.py"),
        repo_id=repo_id,
        branch=branch,
        hub_target=hub_target,
        repo_type="kernel",
    )


def test_plan_sends_the_card_to_main_and_builds_to_the_version_branch() -> None:
    cpu, rocm = "torch213-cxx11-cpu-x86_64-linux", "torch213-cxx11-rocm71-x86_64-linux"
    sources = {
        f"build/{cpu}/__init__.py": f"build/{cpu}/__init__.py",
        f"build/{cpu}/gemm.abi3.so": f"build/{cpu}/gemm.abi3.so",
        f"build/{cpu}/metadata.json": f"build/{cpu}/metadata.json",
        f"build/{rocm}/metadata.json": f"result/{rocm}/metadata.json",
        f"build/{rocm}/my_gemm/__init__.py": f"result/{rocm}/my_gemm/__init__.py",
        "benchmarks/benchmark.py": "benchmarks/benchmark.py",
        "benchmarks/benchmark_b.py": "benchmarks/benchmark_b.py",
    }
    assert plan(ROCM, CPU) == Publication(
        repo_id=RepoId(namespace="kernels-community", name="gemm"),
        repo_type="kernel",
        version_branch="v1",
        main_files=(Upload(source="CARD.md", target="README.md"),),
        version_files=tuple(Upload(source=it, target=to) for to, it in sources.items()),
        replaced=(f"build/{cpu}", f"build/{rocm}"),
    )


def test_plan_has_nothing_for_main_when_there_is_no_card() -> None:
    publication = plan_publication(
        variants=[CPU],
        card=None,
        benchmarks=(),
        repo_id="a/b",
        branch=None,
        hub_target=None,
        repo_type="model",
    )
    assert publication.main_files == ()
    assert publication.repo_type == "model"


@pytest.mark.parametrize(
    ("repo_id", "branch", "target", "expected"),
    [
        (None, None, TARGET, ("kernels-community/gemm", "v1")),
        ("me/gemm", None, TARGET, ("me/gemm", "v1")),
        ("me/gemm", None, None, ("me/gemm", "v1")),
        (None, "next", TARGET, ("kernels-community/gemm", "next")),
        (None, None, replace(TARGET, branch="dev"), ("kernels-community/gemm", "dev")),
        (None, "next", replace(TARGET, branch="dev"), ("kernels-community/gemm", "next")),
    ],
)
def test_plan_prefers_the_callers_choice_then_the_manifest(
    repo_id: str | None,
    branch: str | None,
    target: HubTarget | None,
    expected: tuple[str, str],
) -> None:
    publication = plan(CPU, repo_id=repo_id, branch=branch, hub_target=target)
    assert (str(publication.repo_id), publication.version_branch) == expected


@pytest.mark.parametrize("target", [None, HubTarget()])
def test_plan_never_guesses_an_owner(target: HubTarget | None) -> None:
    with pytest.raises(PublicationError) as caught:
        plan(CPU, hub_target=target)
    assert str(caught.value) == (
        "no repository to upload to\n"
        '  hint: pass --repo-id owner/name, or set repo-id = "owner/name" in [general.hub]'
    )


def test_plan_is_refused_when_the_repository_id_is_wrong() -> None:
    with pytest.raises(InvalidName, match=r"^--repo-id: 'gemm' is not a repository id"):
        plan(CPU, repo_id="gemm")


AT = "build/torch213-cxx11-cpu-x86_64-linux"


@pytest.mark.parametrize(
    ("variants", "problem"),
    [
        pytest.param([], "no build variants to upload", id="none"),
        pytest.param([replace(CPU, metadata=None)], f"{AT}: no metadata.json", id="unreadable"),
        pytest.param(
            [replace(CPU, files=("__init__.py",))], f"{AT}: no metadata.json", id="no-metadata"
        ),
        pytest.param([replace(CPU, files=())], f"{AT}: the folder is empty", id="empty"),
        pytest.param(
            [replace(CPU, folder="torch213-x86_64")],
            "build/torch213-x86_64: 'torch213-x86_64' is not the name of a build variant",
            id="bad-name",
        ),
        pytest.param(
            [replace(CPU, files=("metadata.json", "gemm.so"))],
            f"{AT}: no __init__.py to import",
            id="no-module",
        ),
        pytest.param(
            [replace(CPU, files=(*CPU.files, "__pycache__/a.cpython-311.pyc"))],
            f"{AT}: holds bytecode, __pycache__/a.cpython-311.pyc",
            id="bytecode",
        ),
        pytest.param(
            [replace(CPU, links=("gemm.abi3.so",))],
            f"{AT}: gemm.abi3.so is a link to a file outside",
            id="link",
        ),
        pytest.param(
            [replace(CPU, metadata=ROCM.metadata)],
            f"{AT}: metadata.json is for rocm",
            id="other-backend",
        ),
        pytest.param(
            [CPU, replace(ROCM, metadata=replace(CPU_METADATA, version=2, backend=Backend.ROCM))],
            "build variants have different versions: 1, 2",
            id="versions",
        ),
        pytest.param(
            [CPU, replace(CPU, folder=f"result/{CPU.folder}")],
            f"variant {CPU.folder!r} was found twice",
            id="twice",
        ),
        pytest.param(
            [replace(CPU, metadata=None, files=("a.pyc", "b.pyc"), links=("c",))],
            f"{AT}: no metadata.json; {AT}: holds bytecode, a.pyc; "
            f"{AT}: holds bytecode, b.pyc; {AT}: c is a link to a file outside",
            id="all-at-once",
        ),
    ],
)
def test_plan_is_refused_before_any_upload(variants: list[BuiltVariant], problem: str) -> None:
    with pytest.raises(PublicationError) as caught:
        plan(*variants)
    assert caught.value.problem == problem
    assert caught.value.exit_code == 2

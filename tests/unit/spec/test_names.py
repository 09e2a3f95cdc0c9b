"""Names of kernels and repositories."""

from __future__ import annotations

import pytest

from kernelmill.spec.errors import InvalidName
from kernelmill.spec.names import KernelName, RepoId


def test_repo_id_keeps_its_text_when_valid() -> None:
    repo_id = RepoId.parse("kernels-community/gemm_2.x")
    assert (repo_id.namespace, repo_id.name) == ("kernels-community", "gemm_2.x")
    assert str(repo_id) == "kernels-community/gemm_2.x"


@pytest.mark.parametrize(
    "text", ["gemm", "a/b/c", "/b", "a/", "a b/c", "a/.b", "-a/b", "a/b-", "a/b\n", ""]
)
def test_repo_id_is_refused_when_malformed(text: str) -> None:
    with pytest.raises(InvalidName) as caught:
        RepoId.parse(text, where="build.toml:3 general.hub.repo-id")
    assert str(caught.value) == (
        f"build.toml:3 general.hub.repo-id: {text!r} is not a repository id\n"
        "  hint: write it as owner/name, such as kernels-community/gemm"
    )


@pytest.mark.parametrize("text", ["a/b--c", "a/b..c", "a/b.git"])
def test_repo_id_is_refused_when_a_hub_would_refuse_it(text: str) -> None:
    with pytest.raises(InvalidName, match=r"holds '--' or '\.\.', or ends in '\.git'"):
        RepoId.parse(text)


def test_repo_id_is_refused_when_too_long() -> None:
    assert str(RepoId.parse("a/" + "b" * 94)) == "a/" + "b" * 94
    with pytest.raises(InvalidName, match="has 97 characters\n  hint: use at most 96"):
        RepoId.parse("a/" + "b" * 95)


@pytest.mark.parametrize(
    ("text", "python_name"),
    [("relu2d", "relu2d"), ("my-kernel", "my_kernel"), ("flash-attn-3", "flash_attn_3")],
)
def test_kernel_name_gives_its_module_when_valid(text: str, python_name: str) -> None:
    name = KernelName.parse(text)
    assert str(name) == text
    assert name.python_name == python_name


@pytest.mark.parametrize(
    "text", ["", "a", "2d", "-a", "a-", "Relu", "a_b", "my--kernel", "a.b", "é1", "ab\n"]
)
def test_kernel_name_is_refused_when_it_breaks_a_rule(text: str) -> None:
    with pytest.raises(InvalidName) as caught:
        KernelName.parse(text)
    assert caught.value.problem == f"invalid kernel name {text!r}"
    assert "single dashes" in caught.value.hint
    assert isinstance(caught.value, ValueError)

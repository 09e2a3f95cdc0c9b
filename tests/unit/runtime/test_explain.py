from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files

from kernelmill.runtime import api
from kernelmill.runtime.cli import main
from kernelmill.spec import status as status_format
from kernelmill.spec.metadata import KernelDependency
from kernelmill.spec.names import RepoId
from kernelmill.spec.status import Redirect

if TYPE_CHECKING:
    from pathlib import Path


def need(repo: str) -> KernelDependency:
    return KernelDependency(repo_id=RepoId.parse(repo), version=1)


@pytest.fixture
def hub(process_session: MemoryHub) -> MemoryHub:
    """``acme/moved`` -> ``acme/top`` -> ``acme/low``, ``acme/none`` and ``stranger/low``."""
    hub = process_session
    for repo in ("acme/low", "stranger/low"):
        hub.publish(repo, "v1", {"torch-cpu": kernel_files()})
    hub.publish("acme/fine", "v1", {"torch-cpu": kernel_files(kernel_depends=(need("acme/low"),))})
    wanted = (need("acme/low"), need("acme/none"), need("stranger/low"))
    hub.publish("acme/top", "v1", {"torch-cpu": kernel_files(kernel_depends=wanted)})
    status = Redirect(destination=RepoId.parse("acme/top"), revision="v1")
    moved = {status_format.FILE_NAME: status_format.dumps(status).encode()}
    hub.publish("acme/moved", "v1", {}, others=moved)
    return hub


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = main(["explain", *arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_explain_names_what_a_kernel_needs(
    hub: MemoryHub, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = explain(capsys, "acme/fine")
    assert (status, found["would_load"]) == (0, "torch-cpu")
    assert found["dependencies"] == [
        {
            "repo": "acme/low",
            "version": 1,
            "revision": None,
            "found": "acme/low (revision: v1)",
            "reason": "",
        }
    ]
    assert [call for call in hub.calls if "__init__" in call] == [], "metadata alone"


def test_explain_says_why_nothing_would_be_loaded(
    hub: MemoryHub, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = explain(capsys, "acme/top")
    assert (status, found["would_load"], found["chosen"]) == (1, None, "torch-cpu")
    reasons = {each["repo"]: each["reason"] for each in found["dependencies"]}
    assert reasons["acme/low"] == ""
    assert reasons["acme/none"] == "there is no kernel repository 'acme/none'"
    assert reasons["stranger/low"].startswith("Kernel repository 'stranger/low' is not from a tr")
    assert main(["explain", "acme/top"]) == 1
    text = capsys.readouterr().out
    assert "would load  nothing here: something that it needs cannot be had" in text
    assert "acme/none (version: 1)     nowhere" in text


def test_explain_shows_the_way_to_where_a_repository_has_moved(
    hub: MemoryHub, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = explain(capsys, "acme/moved", "--version", "1")
    assert (found["repo"], found["redirected_from"]) == ("acme/top", ["acme/moved"])
    main(["explain", "acme/moved", "--version", "1"])
    assert "moved       acme/moved -> acme/top" in capsys.readouterr().out


def test_explain_asks_for_the_trust_of_every_repository_on_the_way(
    hub: MemoryHub, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = hub.repos["acme/moved"].commits
    hub.publish("stranger/moved", "v1", {}, others=next(iter(moved.values())))
    status, found = explain(capsys, "stranger/moved", "--version", "1")
    assert (status, found["trust"]["is_trusted"]) == (1, False)
    assert "'stranger/moved' is not from a trusted publisher" in found["trust"]["reason"]
    assert found["dependencies"] == []


def test_explain_names_an_override(
    hub: MemoryHub,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("LOCAL_KERNELS", f"acme/low={tmp_path}")
    assert explain(capsys, "acme/low")[1]["override"] == str(tmp_path)
    assert main(["explain", "acme/low"]) == 0
    assert f"override    {tmp_path}" in capsys.readouterr().out


def test_explain_and_loading_agree(hub: MemoryHub, capsys: pytest.CaptureFixture[str]) -> None:
    for repo in ("acme/fine", "acme/low"):
        assert api.has_kernel(repo, version=1) is bool(explain(capsys, repo)[1]["would_load"])

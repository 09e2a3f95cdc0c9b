from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files

from kernelmill.runtime import api, session
from kernelmill.runtime.cli import main
from kernelmill.runtime.cli.output import print_facts, print_table
from kernelmill.runtime.hub.remembered import RememberedHub

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.settings import Settings
    from kernelmill.spec.host import Host

Printed = tuple[int, str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """Run ``kernels`` in this process; gives its exit status and what it printed."""

    def run(*arguments: str) -> Printed:
        status = main(arguments)
        output = capsys.readouterr()
        return status, output.out + output.err

    return run


def test_explain_loads_nothing_when_the_publisher_is_not_trusted(
    process_session: MemoryHub, command: Callable[..., Printed]
) -> None:
    process_session.publish("stranger/toy", "v1", {"torch-cpu": kernel_files()})
    status, text = command("explain", "stranger/toy")
    assert status == 1
    assert "would load  nothing without trust_remote_code\n" in text
    status, text = command("explain", "stranger/toy", "--json")
    assert status == 1
    assert json.loads(text)["chosen"] == "torch-cpu"
    assert json.loads(text)["would_load"] is None


def test_explain_names_the_build_when_the_publisher_is_trusted(
    process_session: MemoryHub, command: Callable[..., Printed]
) -> None:
    process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    status, text = command("explain", "acme/toy")
    assert status == 0
    assert "would load  torch-cpu\n" in text


@pytest.fixture
def file_as_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache whose folder is a file."""
    path = tmp_path / "cache"
    path.write_text("")
    monkeypatch.setenv("KERNELS_CACHE", str(path))
    return path


def test_doctor_names_a_cache_that_is_a_file(
    file_as_cache: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Printed]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    status, text = command("doctor")
    assert status == 1
    assert f"the cache {file_as_cache} cannot be made: {file_as_cache} is not a folder" in text


def test_doctor_says_all_that_is_wrong_with_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: Callable[..., Printed]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_ENDPOINT", "hub.example.org")
    monkeypatch.setenv("KERNELS_REVALIDATE", "soon")
    monkeypatch.setenv("KERNELS_BUNDLE", str(tmp_path / "bundle"))
    monkeypatch.setenv("KERNELS_TRUSTED_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("LOCAL_KERNELS", f"acme/toy={tmp_path / 'mine'}")
    status, text = command("doctor", "--json")
    findings = json.loads(text)["findings"]
    assert status == 1
    assert [each.split(": ")[0] for each in findings] == [
        "HF_ENDPOINT",
        "KERNELS_REVALIDATE",
        "LOCAL_KERNELS",
        "KERNELS_BUNDLE",
        str(tmp_path / "keys"),
    ]
    assert json.loads(text)["bundles"] == [str(tmp_path / "bundle")]
    monkeypatch.setenv("LOCAL_KERNELS", "toy")
    assert "Invalid LOCAL_KERNELS entry: toy." in command("doctor")[1]


def test_versions_offline_say_that_nothing_is_here(
    monkeypatch: pytest.MonkeyPatch, command: Callable[..., Printed]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("versions", "info"):
        status, text = command(name, "acme/toy")
        assert status == 4
        assert "No version of 'acme/toy' is in the local cache and the Hub is in off" in text
        assert "hint: load it once with the network on" in text


def test_versions_ask_the_hub_even_when_its_last_answer_holds(
    monkeypatch: pytest.MonkeyPatch, hub: MemoryHub, host: Host, command: Callable[..., Printed]
) -> None:
    def open_hub(settings: Settings, cache: Cache, *_: object) -> Hub:
        return RememberedHub(
            endpoint=hub.endpoint,
            cache=cache,
            connect=lambda: hub,
            max_age_s=settings.max_age_s,
        )

    monkeypatch.setattr(session, "open_hub", open_hub)
    monkeypatch.setattr(session, "probe_host", lambda: host)
    hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    assert "revision    v1 " in command("explain", "acme/toy")[1]
    hub.publish("acme/toy", "v2", {"torch-cpu": kernel_files()})
    assert "revision    v1 " in command("explain", "acme/toy")[1]
    assert "2        torch-cpu  chosen" in command("versions", "acme/toy")[1]
    assert "revision    v2 " in command("explain", "acme/toy")[1]


def test_update_says_what_stayed(
    process_session: MemoryHub, command: Callable[..., Printed]
) -> None:
    commit = process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    api.get_kernel("acme/toy", version=1)
    status, text = command("update")
    assert (status, text) == (0, f"acme/toy  v1  {commit}  unchanged  torch-cpu\n")


def test_explain_works_when_the_cache_is_a_file(
    process_session: MemoryHub, file_as_cache: Path, command: Callable[..., Printed]
) -> None:
    process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    assert command("explain", "acme/toy")[0] == 0


def test_explain_names_the_versions_when_the_revision_has_no_builds(
    process_session: MemoryHub, command: Callable[..., Printed]
) -> None:
    process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files()})
    process_session.publish("acme/toy", "main", {})
    status, text = command("explain", "acme/toy", "--revision", "main")
    assert status == 1
    assert "would load  nothing here: main has no builds; versions: v1\n" in text
    assert "advice" not in text
    assert "reason" not in text, "no empty table"


def test_versions_mark_the_build_that_is_chosen_and_say_why_not_the_others(
    process_session: MemoryHub, command: Callable[..., Printed]
) -> None:
    build = kernel_files()
    process_session.publish("acme/toy", "v1", {"torch-cpu": build, "torch-tpu": build})
    _, text = command("versions", "acme/toy")
    assert text.splitlines()[1].split() == ["1", "torch-cpu", "chosen"]
    _, text = command("versions", "acme/toy", "--json")
    (version,) = json.loads(text)["versions"]
    assert version["variants"] == ["torch-cpu", "torch-tpu"]
    assert list(version["reasons"]) == ["torch-tpu"]
    assert "backend (tpu) does not match" in version["reasons"]["torch-tpu"]


def test_table_folds_what_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "30")
    name = "torch213-cxx11-cpu-x86_64-linux"
    terminal = Terminal()
    print_table(("build", "fits"), [(name, "chosen")], terminal)
    cells = [line.split()[0] for line in terminal.getvalue().splitlines()[1:]]
    assert "".join(cells) == name


def test_facts_are_printed_with_names_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts({"is_offline": False, "kernels_minver": None, "local_kernels": {"a/b": "/c"}})
    assert capsys.readouterr().out.splitlines() == [
        "offline        no",
        "needs kernels  -",
        "LOCAL_KERNELS  a/b=/c",
    ]

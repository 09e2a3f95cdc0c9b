"""Starting and stopping the Hub as a user does."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import stat
import subprocess
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from demo.hub import COMMAND, serving, start
from huggingface_hub import HfApi

from kernelmill.hub.cli import common, main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from demo.hub import RunningHub


def test_serve_keeps_everything_when_it_restarts(tmp_path: Path) -> None:
    with serving(tmp_path, "--trust", "acme") as hub:
        api = HfApi(endpoint=hub.url, token=hub.token)
        api.create_repo("acme/kept", repo_type="kernel")
        api.upload_file(
            path_or_fileobj=b"1", path_in_repo="a", repo_id="acme/kept", repo_type="kernel"
        )
    with serving(tmp_path) as again:
        assert again.token == hub.token
        api = HfApi(endpoint=again.url, token=again.token)
        assert api.list_repo_files("acme/kept", repo_type="kernel") == ["a"]
    assert (tmp_path / "hub.log").read_text().count("admin token (shown once): hf_") == 1
    (tmp_path / "token").unlink()  # a token cannot be shown again, so a new one is made
    with serving(tmp_path) as third:
        assert third.token != hub.token
        for token in (hub.token, third.token):
            assert HfApi(endpoint=third.url, token=token).whoami()["name"] == "admin"


def test_serve_writes_its_files_for_the_owner_only(hub: RunningHub) -> None:
    ready = hub.data.with_name("hub.ready")
    assert json.loads(ready.read_text()) == {
        "version": 1,
        "url": hub.url,
        "pid": hub.process.pid,
    }
    for path in (ready, hub.data.with_name("token")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(hub.data.stat().st_mode) == 0o700


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_stops_cleanly_when_told(tmp_path: Path, number: signal.Signals) -> None:
    hub = start(tmp_path)
    hub.process.send_signal(number)
    assert hub.process.wait(timeout=15) == 0
    assert not (tmp_path / "hub.ready").exists()
    log = (tmp_path / "hub.log").read_text()
    assert log.endswith("kernel-hub: stopped\n")
    assert "Traceback" not in log
    assert list((tmp_path / "data" / "tmp").iterdir()) == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a command ended."""

    status: int
    text: str


@pytest.fixture
def fail(capsys: pytest.CaptureFixture[str]) -> Callable[..., Failure]:
    """Return what runs a command in this process and gives back its exit status and error."""

    def run(*arguments: str) -> Failure:
        status = main(arguments)
        text = capsys.readouterr().err
        assert "Traceback" not in text
        return Failure(status=status, text=text)

    return run


def test_serve_fails_when_the_port_is_taken(tmp_path: Path, fail: Callable[..., Failure]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = fail("serve", "--data", str(tmp_path / "d"), "--port", str(port))
    assert done.status == 3
    assert f"127.0.0.1:{port}: cannot listen: Address already in use" in done.text
    assert "stop the program that uses the port" in done.text
    assert not (tmp_path / "d").exists(), "no token is spent"


def test_serve_says_so_when_the_address_is_not_of_this_machine(
    tmp_path: Path, fail: Callable[..., Failure]
) -> None:
    done = fail("serve", "--data", str(tmp_path / "d"), "--host", "192.0.2.1", "--port", "0")
    assert done.status == 3
    assert "192.0.2.1:0: cannot listen: Cannot assign requested address" in done.text
    assert "hint: choose an address of this machine" in done.text
    assert not (tmp_path / "d").exists()


def test_serve_refuses_a_folder_that_holds_other_things(
    tmp_path: Path, fail: Callable[..., Failure]
) -> None:
    (tmp_path / "letters").mkdir()
    done = fail("serve", "--data", str(tmp_path), "--port", "0")
    assert done.status == 3
    assert "the folder holds other things, and no Hub" in done.text
    assert [each.name for each in tmp_path.iterdir()] == ["letters"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("serve",), id="serve"),
        pytest.param(("org", "create", "acme"), id="org"),
        pytest.param(("user", "create", "ada"), id="user"),
        pytest.param(("token", "create", "--user", "ada", "--role", "read"), id="token"),
    ],
)
def test_command_names_the_packages_that_are_not_installed(
    tmp_path: Path,
    fail: Callable[..., Failure],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.setattr(common, "PACKAGES", ("sqlalchemy", "no_such_package"))
    done = fail(*arguments, "--data", str(tmp_path / "d"))
    assert done.status == 3
    assert done.text == (
        "kernel-hub: not installed: no_such_package\n"
        '  hint: in a clone of kernelmill: pip install ".[hub]"\n'
    )


def test_ready_file_of_a_killed_hub_is_removed_at_the_next_start(
    tmp_path: Path, fail: Callable[..., Failure]
) -> None:
    (tmp_path / "ready").write_text("stale")
    (tmp_path / "d").write_text("not a folder, so this start ends early")
    options = ("--port", "0", "--ready-file", str(tmp_path / "ready"))
    assert fail("serve", "--data", str(tmp_path / "d"), *options).status == 3
    assert not (tmp_path / "ready").exists()


def test_serve_fails_when_another_hub_has_the_port(
    hub: RunningHub, tmp_path: Path, fail: Callable[..., Failure]
) -> None:
    port = hub.url.rpartition(":")[2]
    done = fail("serve", "--data", str(tmp_path / "d"), "--port", port)
    assert done.status == 3
    assert "Address already in use" in done.text


def test_serve_stops_when_its_ready_file_cannot_be_written(tmp_path: Path) -> None:
    ready = tmp_path / "nowhere" / "ready"
    options = ("--data", str(tmp_path / "d"), "--port", "0", "--ready-file", str(ready))
    done = subprocess.run(
        [*COMMAND, "serve", *options], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3
    assert f"{ready}: the file cannot be written: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_serve_fails_when_the_data_folder_is_a_file(
    tmp_path: Path, fail: Callable[..., Failure]
) -> None:
    (tmp_path / "d").write_text("not a folder")
    done = fail("serve", "--data", str(tmp_path / "d"), "--port", "0")
    assert done.status == 3
    assert "the data folder cannot be used: File exists" in done.text


def test_serve_fails_when_the_database_is_none(
    tmp_path: Path, fail: Callable[..., Failure]
) -> None:
    (tmp_path / "hub.sqlite3").write_text("certainly not a database" * 100)
    done = fail("serve", "--data", str(tmp_path), "--port", "0")
    assert done.status == 3
    assert "the database cannot be opened: file is not a database" in done.text


def test_serve_fails_when_a_newer_version_wrote_the_database(
    tmp_path: Path, fail: Callable[..., Failure]
) -> None:
    with closing(sqlite3.connect(tmp_path / "hub.sqlite3")) as connection, connection:
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        connection.execute("INSERT INTO meta VALUES ('schema_version', '999')")
    done = fail("serve", "--data", str(tmp_path), "--port", "0")
    assert done.status == 3
    assert "the database has schema version 999, this program reads 2" in done.text
    with closing(sqlite3.connect(tmp_path / "hub.sqlite3")) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert tables.fetchall() == [("meta",)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--port", "70000"), "70000 is not a port: 0 to 65535"),
        (("--port", "0", "--max-upload-mib", "0"), "--max-upload-mib is 0, want at least 1"),
        (("--port", "0", "--trust", "a b"), "'a b' cannot name an account"),
    ],
)
def test_serve_fails_when_an_option_is_wrong(
    tmp_path: Path, options: tuple[str, ...], text: str, fail: Callable[..., Failure]
) -> None:
    done = fail("serve", "--data", str(tmp_path / "d"), *options)
    assert done.status == 2
    assert text in done.text
    assert not (tmp_path / "d").exists()


def test_command_fails_when_there_is_no_hub(tmp_path: Path, fail: Callable[..., Failure]) -> None:
    done = fail("org", "create", "acme", "--data", str(tmp_path / "none"))
    assert done.status == 2
    assert "there is no Hub in this folder" in done.text
    assert not (tmp_path / "none").exists()


def test_version_is_printed() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("kernel-hub ")

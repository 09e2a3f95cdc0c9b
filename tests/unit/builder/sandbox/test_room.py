from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.builder.fakes import write_kernel

from kernelmill.builder.release import room_of
from kernelmill.builder.sandbox import bubblewrap, choice, namespaces
from kernelmill.builder.sandbox.contents import copy_package, copy_sources
from kernelmill.builder.sandbox.errors import NoSandbox
from kernelmill.builder.sources import read_tree

TREES = {"torch-2.13.0+cpu": Path("/sdks/torch/tree"), "cxx-12.2.0": Path("/sdks/cxx/tree")}
ROOM = room_of(Path("/room"), TREES, {"MAX_JOBS": "2"})


def test_room_has_what_is_declared_at_fixed_places() -> None:
    assert ROOM.root == Path("/sdks/cxx/tree")
    assert [(str(it.source), it.target, it.is_writable) for it in ROOM.mounts] == [
        ("/room/src", "/src", False),
        ("/room/builder", "/builder", False),
        ("/room/run/job.json", "/run/job.json", False),
        ("/room/out", "/out", True),
        ("/sdks/cxx/tree", "/sdk/cxx-12.2.0/tree", False),
        ("/sdks/torch/tree", "/sdk/torch-2.13.0+cpu/tree", False),
    ]
    assert ROOM.environment == {
        "PATH": "/usr/bin",
        "LC_ALL": "C",
        "TZ": "UTC",
        "HOME": "/build",
        "PYTHONPATH": "/builder",
        "MAX_JOBS": "2",
    }
    assert ROOM.command == (
        "/usr/bin/python3",
        "-m",
        "kernelmill.builder.inside",
        "/run/job.json",
    )


def test_bubblewrap_shares_nothing_and_clears_the_environment() -> None:
    words = bubblewrap.command("/usr/bin/bwrap", ROOM)
    assert words[:5] == ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent",
                         "--new-session", "--cap-drop"]  # fmt: skip
    assert "--clearenv" in words
    text = " ".join(words)
    assert "--uid 1000 --gid 1000 --hostname build --ro-bind /sdks/cxx/tree / " in text
    assert "--bind /room/out /out" in text
    assert "--ro-bind /room/src /src" in text
    assert text.endswith("-- /usr/bin/python3 -m kernelmill.builder.inside /run/job.json")


def test_namespaces_get_the_same_room() -> None:
    document = json.loads(namespaces.document(ROOM, user=1000, host_name="build"))
    assert document["root"] == "/sdks/cxx/tree"
    assert document["mounts"][3] == ["/room/out", "/out", True]
    assert document["environment"] == dict(ROOM.environment)
    assert document["command"] == [*ROOM.command]


def test_machine_without_sandboxes_names_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_try", lambda *_: "unshare: Operation not permitted")
    with pytest.raises(NoSandbox) as caught:
        choice.probe_sandbox({"PATH": "/nothing"}, root=Path("/sdks/cxx/tree"))
    assert str(caught.value) == (
        "this machine allows no sandbox (bubblewrap: bwrap is not installed; "
        "namespaces: unshare: Operation not permitted)\n"
        "  hint: allow user namespaces, or accept a weaker build with --allow-unsandboxed"
    )
    assert caught.value.exit_code == 3


def test_unknown_sandbox_is_refused() -> None:
    with pytest.raises(NoSandbox, match="KERNELMILL_SANDBOX is 'jail'") as caught:
        choice.probe_sandbox({"KERNELMILL_SANDBOX": "jail"}, root=Path("/x"))
    assert caught.value.hint == "set it to one of: bubblewrap, namespaces"


def test_only_files_that_the_manifest_names_are_copied(tmp_path: Path) -> None:
    root = write_kernel(tmp_path / "kernel")
    (root / "relu/secret.h").write_text("// not named\n")
    (root / "LICENSE").write_text("MIT License\n")
    (root / "build.lock").write_text("{}")
    copy_sources(read_tree(root), tmp_path / "src")
    copied = {
        it.relative_to(tmp_path / "src").as_posix()
        for it in (tmp_path / "src").rglob("*")
        if it.is_file()
    }
    assert copied == {
        "LICENSE",
        "build.toml",
        "relu/relu.cpp",
        "relu/relu.h",
        "relu/relu.hip",
        "torch-ext/binding.cpp",
        "torch-ext/my_relu/__init__.py",
    }


def test_builder_is_copied_without_bytecode(tmp_path: Path) -> None:
    copy_package(tmp_path)
    names = {it.relative_to(tmp_path).as_posix() for it in tmp_path.rglob("*") if it.is_file()}
    assert "kernelmill/builder/inside/__main__.py" in names
    assert "kernelmill/builder/templates/project/cmake/kernel.cmake" in names
    assert not [it for it in names if "__pycache__" in it or "/hub/" in it]

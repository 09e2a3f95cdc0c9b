"""``lock`` and ``build --release`` on the command line, without a compiler."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import write_kernel
from tests.unit.builder.locking.records import STORE

from kernelmill.builder.cli import main
from kernelmill.builder.sdk.store import Store

if TYPE_CHECKING:
    from pathlib import Path

CPU = "torch213-cxx11-cpu-x86_64-linux"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNELMILL_SDKS", str(tmp_path / "sdks"))
    return write_kernel(tmp_path / "kernel")


@pytest.fixture
def store(tmp_path: Path, kernel: Path) -> Store:
    store = Store(tmp_path / "sdks")
    for record in STORE:
        (tmp_path / "tree").mkdir()
        store.install(record, tmp_path / "tree")
    return store


def test_lock_names_what_is_missing(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", str(kernel)]) == 2
    assert (
        "nothing can be locked: SDKs are missing\n  hint: kernel-builder sdk fetch abi-stubs"
        in (capsys.readouterr().err)
    )
    assert not (kernel / "build.lock").exists()


@pytest.mark.usefixtures("store")
def test_lock_is_written_checked_and_kept(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", str(kernel), "--json"]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document["changed"]
    assert CPU in document["variants"]
    assert "left out torch213-cxx11-rocm71-x86_64-linux: not here: zig-0.17.1" in told.err
    assert main(["lock", str(kernel), "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["changed"]
    assert main(["lock", str(kernel), "--check"]) == 0
    text = (kernel / "build.lock").read_text()
    (kernel / "build.lock").write_text(text.replace("1" * 64, "7" * 64, 1))
    assert main(["lock", str(kernel), "--check"]) == 1
    assert "is locked with NAR sha256 777777777777" in capsys.readouterr().out


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(
            ["--variant", "torch213-cxx11-rocm71-x86_64-linux"],
            "torch213-cxx11-rocm71-x86_64-linux cannot be locked: SDKs are missing\n"
            "  hint: kernel-builder sdk fetch zig-0.17.1",
            id="missing",
        ),
        pytest.param(["--variant", "torch-cpu"], "'torch-cpu' is no variant", id="variant"),
        pytest.param(["--update", "cuda"], "--update: 'cuda' is not locked", id="update"),
        pytest.param(["--check", "--update", "cxx"], "--check writes nothing", id="check"),
    ],
)
def test_lock_refuses(
    kernel: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["lock", str(kernel), *words]) == 2
    assert text in capsys.readouterr().err


def test_release_without_a_lock_says_how_to_write_one(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "--release", str(kernel)]) == 2
    assert "no build.lock here\n  hint: write one with `kernel-builder lock`" in (
        capsys.readouterr().err
    )


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(
            ["--variant", "torch210-cxx11-cpu-x86_64-linux"], "is not locked", id="not-locked"
        ),
        pytest.param(["--rocm", "7.1"], "--rocm does not go with --release", id="rocm"),
        pytest.param(["--no-manylinux"], "a release build is for manylinux_2_28", id="old"),
        pytest.param(["--torch", "2.9"], "build.lock has no such variant", id="torch"),
    ],
)
def test_release_refuses(
    kernel: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["lock", str(kernel)]) == 0
    assert main(["build", "--release", str(kernel), *words]) == 2
    assert text in capsys.readouterr().err


def test_release_refuses_an_sdk_that_was_changed(
    kernel: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lock", str(kernel)]) == 0
    assert main(["build", "--release", str(kernel), "--variant", CPU]) == 3
    assert "cxx-12.2.0 was changed: NAR sha256 is " in capsys.readouterr().err
    text = (kernel / "build.lock").read_text()
    (kernel / "build.lock").write_text(text.replace("1" * 64, "7" * 64))
    assert main(["build", "--release", str(kernel), "--variant", CPU]) == 3
    assert "is not the one that is locked" in capsys.readouterr().err


def test_develop_build_cannot_be_reproduced(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variant = kernel / "build" / CPU
    variant.mkdir(parents=True)
    build = {"mode": "develop", "cross": False}
    document = {"name": "my-relu", "id": "_x", "version": 1, "python-depends": [],
                "backend": {"type": "cpu"}, "kernelmill": build}  # fmt: skip
    (variant / "metadata.json").write_text(json.dumps(document))
    assert main(["reproduce", str(kernel)]) == 2
    assert "it is a develop build: nothing says what it was made of" in capsys.readouterr().err
    document["kernelmill"] = {**build, "mode": "release", "isolation": "none"}
    (variant / "metadata.json").write_text(json.dumps(document))
    assert main(["reproduce", str(variant)]) == 2
    assert "it was built without a sandbox" in capsys.readouterr().err
    assert main(["reproduce", "nothing"]) == 2
    assert "'nothing' is no folder, no variant in build/, and no repository" in (
        capsys.readouterr().err
    )
    assert main(["reproduce", str(kernel), "--expected"]) == 2

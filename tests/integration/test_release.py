"""Release builds: what a room shows, and that its bytes depend on nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest
from demo.hub import serving
from tests.conftest import ROOT, require_program
from tests.integration.release_world import (
    KERNEL,
    VARIANT,
    as_other_user,
    environment,
    locked_sdks,
    open_folder,
    require_store,
)

from kernelmill.binary import elf
from kernelmill.binary.symbols import read_linkage
from kernelmill.builder.inside.statement import file_hashes
from kernelmill.builder.locking.expected import covered
from kernelmill.builder.locking.files import read_expected
from kernelmill.spec import metadata as metadata_format

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelmill.builder.sdk.store import Store

KINDS: Final = ("bubblewrap", "namespaces")
LOOK_AROUND: Final = """
import json, os, socket, sys
def attempt(act):
    try:
        return str(act())
    except OSError as error:
        return error.strerror
print(json.dumps({
    "user": [os.getuid(), os.getgid()],
    "host": socket.gethostname(),
    "environment": dict(os.environ),
    "folders": sorted(os.listdir("/")),
    "processes": len([it for it in os.listdir("/proc") if it.isdecimal()]),
    "write": attempt(lambda: open("/usr/x", "w")),
    "source": attempt(lambda: open("/src/x", "w")),
    "home": attempt(lambda: os.listdir(sys.argv[1])),
    "network": attempt(lambda: socket.create_connection(("192.0.2.1", 80), timeout=1)),
    "sdks": sorted(os.listdir("/sdk")),
    "rights": [it.split()[1] for it in open("/proc/self/status") if it.startswith("CapEff")],
}))
open("/out/made", "w").write("x")
"""
RUN_ROOM: Final = """
import os, sys
from pathlib import Path
from dataclasses import replace
from kernelmill.builder.release import room_of
from kernelmill.builder.sandbox.choice import probe_sandbox, run_room
place, root, home = map(Path, sys.argv[1:4])
room = room_of(place, {"cxx-12.2.0": root}, {})
room = replace(room, command=("/usr/bin/python3", "/src/look.py", str(home)))
sys.exit(run_room(probe_sandbox(os.environ, root=root), room, on_line=sys.stdout.write))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def store() -> Store:
    return require_store(locked_sdks())


def require_bubblewrap(kind: str) -> None:
    if kind == "bubblewrap":
        require_program("bwrap", package="bubblewrap")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("user", ["this", "another"])
def test_room_shows_what_is_declared_and_nothing_else(
    store: Store, place: Path, kind: str, user: str
) -> None:
    require_bubblewrap(kind)
    for name in ("src", "builder", "run", "out"):
        (place / name).mkdir()
    (place / "src/look.py").write_text(LOOK_AROUND)
    (place / "run/job.json").write_text("{}")
    root = next(it.tree for it in store.installed() if it.record.kind == "cxx")
    python = [sys.executable] if user == "this" else as_other_user(store, place)
    done = subprocess.run(
        [*python, "-c", RUN_ROOM, str(place), str(root), str(place)],
        env=environment(store, KERNELMILL_SANDBOX=kind, SECRET="told"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    folders = ["bin", "build", "builder", "dev", "etc", "lib", "lib64", "out", "proc", "run"]
    assert seen["folders"] == [*folders, "sbin", "sdk", "src", "tmp", "usr"]
    assert seen["user"] == [1000, 1000]
    assert seen["host"] == "build"
    assert "SECRET" not in seen["environment"]
    assert seen["environment"]["PATH"] == "/usr/bin"
    assert seen["processes"] <= 2
    assert seen["write"] == seen["source"] == "Read-only file system"
    assert seen["home"] == "No such file or directory"
    assert seen["network"] == "Network is unreachable"
    assert seen["sdks"] == ["cxx-12.2.0"]
    assert seen["rights"] == ["0000000000000000"]
    assert (place / "out/made").read_text() == "x"


def release(
    store: Store, root: Path, kind: str, *words: str, python: list[str] | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    command = [*(python or [sys.executable]), "-m", "kernelmill.builder", "build", "--release"]
    return subprocess.run(
        [*command, str(root), "--variant", VARIANT, *words],
        env=environment(store, KERNELMILL_SANDBOX=kind, **env),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def copy_kernel(place: Path) -> Path:
    ignored = shutil.ignore_patterns("build", ".kernelmill", "__pycache__")
    return shutil.copytree(KERNEL, place, ignore=ignored)


@pytest.fixture(scope="module")
def built(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_bubblewrap("bubblewrap")
    root = copy_kernel(tmp_path_factory.mktemp("one") / "kernel")
    done = release(store, root, "bubblewrap")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{root / 'build' / VARIANT}\n"
    return root / "build" / VARIANT


def test_release_build_gives_the_recorded_bytes(built: Path) -> None:
    expected = read_expected(KERNEL)[VARIANT]
    assert covered(file_hashes(built)) == expected
    # L13: no bytecode is shipped.
    assert not [it for it in built.rglob("*") if it.suffix == ".pyc"]


def test_folder_time_user_locale_environment_and_sandbox_change_no_byte(
    store: Store, built: Path, place: Path
) -> None:
    root = copy_kernel(place / "another-folder")
    (root / "notes.txt").write_text("no source")
    python = as_other_user(store, place)
    done = release(
        store,
        root,
        "namespaces",
        python=python,
        HOME=str(place),
        LANG="de_DE.UTF-8",
        TZ="Asia/Tokyo",
        CXXFLAGS="-O0",
        SOURCE_DATE_EPOCH="1700000000",
        MAX_JOBS="1",
    )
    assert done.returncode == 0, done.stderr
    again = root / "build" / VARIANT
    assert file_hashes(again) == file_hashes(built)
    statements = [it.with_name(f"{VARIANT}.intoto.json").read_bytes() for it in (again, built)]
    assert statements[0] == statements[1]


def test_release_build_says_what_it_was_made_of(built: Path) -> None:
    text = (built / "metadata.json").read_text()
    build = metadata_format.parse(text, where="metadata.json").build
    assert build is not None
    assert (build.mode, build.isolation) == ("release", "sandbox")
    assert {it.name: it.nar_sha256 for it in locked_sdks()}.items() <= build.inputs.items()
    assert {"build.lock", "build.toml", "kernelmill"} <= {*build.inputs}
    statement = json.loads(built.with_name(f"{VARIANT}.intoto.json").read_text())
    assert {it["name"].partition("/")[2] for it in statement["subject"]} == {*file_hashes(built)}


def test_release_build_runs_on_old_systems_and_brings_no_search_path(built: Path) -> None:
    """L10 and L11: no path to a ROCm of the build machine, no glibc newer than 2.28."""
    (library,) = built.glob("*.so")
    linkage = read_linkage(elf.parse(library.read_bytes()))
    glibc = [it.version for it in linkage.undefined if it.version.startswith("GLIBC_")]
    assert max(tuple(map(int, it[6:].split("."))) for it in glibc) <= (2, 28)
    assert (linkage.runpath, linkage.rpath) == ((), ())
    assert b"/opt/rocm" not in library.read_bytes()
    assert b"/build/" not in library.read_bytes()


def test_header_that_is_not_declared_is_named(store: Store, tmp_path: Path) -> None:
    root = copy_kernel(tmp_path / "kernel")
    (root / "private").mkdir()
    (root / "private/secret.h").write_text("#define N 1\n")
    source = root / "torch-ext/binding.cpp"
    source.write_text('#include "../private/secret.h"\n' + source.read_text())
    done = release(store, root, "namespaces")
    assert done.returncode == 1
    assert "fatal error: ../private/secret.h: No such file or directory" in done.stderr
    assert not (root / "build" / VARIANT).exists()


@pytest.mark.long
def test_build_that_wants_the_network_fails_with_the_names(store: Store, tmp_path: Path) -> None:
    root = copy_kernel(tmp_path / "kernel")
    package = root / "torch-ext/relu_stable"
    (package / "fetch.py").write_text(
        "import socket, subprocess, sys\n"
        "for host in ('kernels.example.org', '192.0.2.7'):\n"
        "    try:\n"
        "        socket.create_connection((host, 443), timeout=3)\n"
        "    except OSError:\n"
        "        pass\n"
        "sys.exit(subprocess.call(sys.argv[1:]))\n"
    )
    manifest = (root / "build.toml").read_text()
    wrapper = "python3,/build/kernel/torch-ext/relu_stable/fetch.py"
    old = 'backend = "rocm"\n'
    (root / "build.toml").write_text(
        manifest.replace(old, f'{old}cxx-flags = ["-O2"]\n').replace(
            "[torch]\n", f'[torch]\ncxx-flags = ["-wrapper", "{wrapper}"]\n'
        )
    )
    done = release(store, root, "namespaces")
    assert done.returncode == 1
    assert (
        "the build wanted the network, which it does not have: "
        "kernels.example.org, 192.0.2.7:443" in done.stderr
    )


@pytest.mark.long
def test_reproduce_says_in_words_what_differs(store: Store, built: Path, tmp_path: Path) -> None:
    root = copy_kernel(tmp_path / "kernel")
    changed = shutil.copytree(built, root / "build" / VARIANT)
    (library,) = changed.glob("*.so")
    content = library.read_bytes()
    place = content.index(b"GCC: (Debian")
    fake = b"/home/joe/relu.cpp\0"
    library.write_bytes(content[:place] + fake + content[place + len(fake) :])
    done = subprocess.run(
        [sys.executable, "-m", "kernelmill.builder", "reproduce", str(root), "--json"],
        env=environment(store),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    (result,) = json.loads(done.stdout)["variants"]
    assert not result["same"]
    (difference,) = (it for it in result["differences"] if not it["builder-only"])
    assert difference["path"] == library.name
    assert "only the recorded file has the path '/home/joe/relu.cpp'" in difference["words"]
    assert any(it.startswith("section .comment differs in ") for it in difference["words"])
    shutil.copy(built / library.name, library)
    shutil.copy(KERNEL / "build.sha256", root)
    again = subprocess.run(
        [sys.executable, "-m", "kernelmill.builder", "reproduce", VARIANT],
        cwd=root,
        env=environment(store),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"{VARIANT}: the same, 4 files" in again.stdout


@pytest.mark.long
def test_build_on_a_hub_is_reproduced_from_its_commit(store: Store, tmp_path: Path) -> None:
    root = copy_kernel(tmp_path / "kernel")
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    done = release(store, root, "namespaces")
    assert done.returncode == 0, done.stderr
    # C14: outputs of a build, and notes, make no tree dirty; a changed lock would.
    (root / "notes.txt").write_text("no source")
    text = (root / "build" / VARIANT / "metadata.json").read_text()
    provenance = metadata_format.parse(text, where="metadata.json").provenance
    assert provenance is not None
    assert provenance.kernel.is_dirty is False
    with serving(tmp_path / "hub", "--trust", "acme") as hub:
        env = environment(store, HF_ENDPOINT=hub.url, HF_TOKEN=hub.token, HF_HOME=str(tmp_path))
        env["PYTHONPATH"] = str(ROOT / "src")
        upload = ["upload", str(root), "--repo-id", "acme/relu-stable"]
        subprocess.run([sys.executable, "-m", "kernelmill.runtime", *upload], env=env, check=True)
        source = root / "relu/relu.h"
        source.write_text(source.read_text() + "// changed since\n")
        again = subprocess.run(
            [sys.executable, "-m", "kernelmill.builder", "reproduce", "acme/relu-stable"],
            cwd=root,
            env=env,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert again.returncode == 0, again.stdout + again.stderr
    commit = provenance.kernel.commit
    assert f"note: taking the sources of commit {str(commit)[:12]}" in again.stdout
    assert f"{VARIANT}: the same, 4 files" in again.stdout

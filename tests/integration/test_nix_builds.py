"""The same bytes from Nix and from our sandbox. With SDKs that were fetched before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.conftest import require_program
from tests.integration.flakes import ROOT, Kernel, make_kernel, move_apart
from tests.nix_tools import CONFIG, Nix

from kernelmill.builder.cache.sdks import tree_path
from kernelmill.builder.inside.statement import file_hashes
from kernelmill.builder.locking import format as lock_format
from kernelmill.builder.locking.making import make_lock
from kernelmill.builder.sdk.store import open_store
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelmill.builder.locking.format import Lock

pytestmark = pytest.mark.long

VARIANT: Final = "torch-stable-abi29-cpu-x86_64-linux"
NOBODY: Final = 65534


@pytest.fixture(scope="module")
def lock() -> Lock:
    store = open_store(os.environ)
    records = [it.record for it in store.installed()]
    made = make_lock([parse_variant(VARIANT)], records, lock_format.Lock())
    need_sdks([need.name for need in made.missing.get(VARIANT, ())])
    return made.lock


def need_sdks(names: Iterable[str]) -> None:
    here = {it.record.name for it in open_store(os.environ).installed()}
    missing = sorted(set(names) - here)
    if missing:
        reason = f"first run: kernel-builder sdk fetch {' '.join(missing)}"
        if os.environ.get("KERNELMILL_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def project(lock: Lock, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """This project with one example, which names it by a relative path."""
    files = ROOT / "examples/relu-stable"
    return make_kernel(tmp_path_factory.mktemp("project"), files, lock=lock_format.dumps(lock))


@pytest.fixture(scope="module")
def nix(lock: Lock, tmp_path_factory: pytest.TempPathFactory) -> Nix:
    nix = Nix(folder=tmp_path_factory.mktemp("nix"))
    nix.want("--version")
    builder(None, "nix", "import", "--store", nix.folder / "store", *lock.sdks)
    return nix


def builder(cwd: Path | None, *arguments: str | Path, source: Path = ROOT / "src") -> str:
    """Run the builder whose package is in ``source``: its hash is an input of builds."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelmill.builder", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def kernel(nix: Nix, project: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The example in a repository of its own, with its flake.lock."""
    moved = move_apart(project, tmp_path_factory.mktemp("kernel") / "repo")
    nix.want("flake", "update", cwd=moved.folder)
    moved.commit()
    return moved


@pytest.fixture(scope="module")
def bundle(nix: Nix, kernel: Kernel) -> Path:
    """What one plain `nix build . -L` makes."""
    nix.want("build", ".", "-L", cwd=kernel.folder)
    return Path(f"{nix.folder / 'store'}{(kernel.folder / 'result').readlink()}")


def test_nix_and_our_sandbox_make_the_same_bytes(
    bundle: Path, kernel: Kernel, project: Kernel, tmp_path: Path
) -> None:
    clone = tmp_path / "elsewhere"
    subprocess.run(["git", "clone", "-q", kernel.repo, clone], check=True, timeout=60)
    builder(clone, "build", "--release", "--all", "--no-cache", source=project.repo / "src")
    made = file_hashes(clone / "build")
    assert f"{VARIANT}/metadata.json" in made
    assert f"{VARIANT}.intoto.json" in made
    assert file_hashes(bundle) == made


def test_example_with_a_relative_path_makes_the_same_binaries(
    nix: Nix, bundle: Path, project: Kernel
) -> None:
    """Its lock cannot be committed, so that Nix knows no commit; the rest is equal."""
    nix.want("build", ".", "-L", cwd=project.folder)
    made = Path(f"{nix.folder / 'store'}{(project.folder / 'result').readlink()}")
    assert without_commit(made) == without_commit(bundle)


def test_flagship_is_the_one_whose_hashes_are_recorded(nix: Nix, tmp_path: Path) -> None:
    """Those of `build --release`, on whatever machine it was: examples/gemm/build.sha256."""
    files, variant = ROOT / "examples/gemm", "torch213-cxx11-cpu-x86_64-linux"
    flagship = make_kernel(tmp_path, files, lock=(files / "build.lock").read_text())
    lines = [it.split("  ") for it in (files / "build.sha256").read_text().splitlines()]
    recorded = {path: sha for sha, path in lines if path.startswith(f"{variant}/")}
    assert len(recorded) > 3
    locked = lock_format.parse((files / "build.lock").read_text(), where="").sdks_of(variant)
    need_sdks([it.name for it in locked])
    builder(None, "nix", "import", "--store", nix.folder / "store", *(it.name for it in locked))
    nix.want("build", f".#{variant}", "-L", cwd=flagship.folder)
    made = Path(f"{nix.folder / 'store'}{(flagship.folder / 'result').readlink()}")
    assert {f"{variant}/{it}": sha for it, sha in without_commit(made).items()} == recorded


def without_commit(folder: Path) -> dict[str, str]:
    named = ("metadata.json", ".intoto.json")
    return {it: sha for it, sha in file_hashes(folder).items() if not it.endswith(named)}


@pytest.mark.usefixtures("bundle")
def test_rebuild_gives_the_same(nix: Nix, kernel: Kernel) -> None:
    nix.want("build", f".#{VARIANT}", "--rebuild", "--no-link", cwd=kernel.folder)


def test_nothing_of_the_toolchain_is_kept(bundle: Path, nix: Nix) -> None:
    path = f"/nix/store/{bundle.name}"
    assert nix.want("path-info", "--recursive", path).split() == [path]


def test_shell_has_the_locked_sdks(nix: Nix, kernel: Kernel, lock: Lock) -> None:
    shell = open_store(os.environ).find("shell", "5.2.15")
    if shell is None:
        pytest.skip("first run: kernel-builder sdk fetch shell-5.2.15")
    builder(None, "nix", "import", "--store", nix.folder / "store", "shell-5.2.15")
    script = "echo $KERNELMILL_VARIANT; ls $KERNELMILL_SDKS; type -t kernel-builder"
    printed = nix.want("develop", "--offline", "-c", "bash", "-c", script, cwd=kernel.folder)
    words = printed.split()
    assert words[:-1] == [VARIANT, *sorted(lock.sdks)]
    assert words[-1] in {"function", "file"}


@pytest.mark.usefixtures("bundle")
def test_build_and_copy_fills_the_folder(nix: Nix, kernel: Kernel, tmp_path: Path) -> None:
    flake = f"git+file://{kernel.repo}"
    printed = nix.want("run", f"{flake}#build-and-copy", cwd=tmp_path)
    assert printed.endswith(f"copied 1 variants into {tmp_path}/build")
    assert (tmp_path / "build" / VARIANT / "metadata.json").is_file()


def test_ordinary_user_makes_the_same_binaries(bundle: Path, project: Kernel, lock: Lock) -> None:
    """Who needs neither root nor /nix: the store is a folder of theirs."""
    if os.geteuid() != 0:
        pytest.skip("these tests run as an ordinary user already")
    setpriv = require_program("setpriv", package="util-linux")
    # Not below pytest's own folder, which is closed to others.
    home = Path(f"/var/tmp/kernelmill-nix-{os.getpid()}")
    try:
        subprocess.run(["git", "clone", "-q", project.repo, home / "repo"], check=True, timeout=60)
        for name in lock.sdks:
            shutil.copytree(sdk_tree(name), home / "sdks" / name, symlinks=True)
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", home], check=True, timeout=60)
        steps = [
            *(f"nix store add-path --name {it} {home}/sdks/{it}" for it in lock.sdks),
            f"cd {home}/repo/examples/kernel",
            "nix build . --no-link",
            "nix eval --raw .#bundle.outPath",
        ]
        done = subprocess.run(
            [setpriv, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
             "bash", "-ec", "\n".join(steps)],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "NIX_CONFIG": CONFIG.format(store=home / "store", substitute="false"),
            },
            capture_output=True,
            text=True,
            errors="replace",
            timeout=600,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        path = done.stdout.split()[-1]
        assert f"{tree_path(next(iter(lock.sdks.values())))}" in done.stdout
        assert without_commit(Path(f"{home}/store{path}")) == without_commit(bundle)
    finally:
        subprocess.run(["chmod", "-R", "u+w", home], check=False, timeout=60)
        shutil.rmtree(home, ignore_errors=True)


def sdk_tree(name: str) -> Path:
    (found,) = (it for it in open_store(os.environ).installed() if it.record.name == name)
    return found.tree

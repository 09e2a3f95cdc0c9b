"""Locking, downloading and bundling against a real Hub; installing with the real pip."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.runtime.bundles import find_bundled
from kernelmill.runtime.cli import main
from kernelmill.runtime.integrity import check_integrity
from kernelmill.runtime.load import read_metadata
from kernelmill.spec import metadata as metadata_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from demo.hub import RunningHub

ROOT = Path(__file__).resolve().parents[2]


def publish(folder: Path, repo: str, builds: Mapping[str, Mapping[str, bytes]]) -> None:
    for variant, files in builds.items():
        write_files(folder / "build" / variant, files)
    assert main(["upload", str(folder), "--repo-id", repo]) == 0


def make_project(folder: Path, *lines: str) -> Path:
    table = "\n".join(("[tool.kernels.dependencies]", *lines))
    content = f'[project]\nname = "My.App"\nversion = "1.2"\n{table}\n'
    return write_files(folder, {"pyproject.toml": content.encode()})


@pytest.fixture
def project(client: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A locked project that loads one kernel, ``acme/<name of the test>``."""
    repo = repo_of(request)
    cuda = kernel_files(value="cuda", backend=Backend.CUDA)
    publish(tmp_path / "kernel", repo, {"torch-cpu": kernel_files(), "torch-cuda": cuda})
    folder = make_project(tmp_path / "project", f'"{repo}" = 1')
    assert main(["lock", str(folder)]) == 0
    return folder


def repo_of(request: pytest.FixtureRequest) -> str:
    return f"acme/{request.node.name[5:40].replace('_', '-').strip('-')}"


@pytest.fixture
def repo(request: pytest.FixtureRequest) -> str:
    return repo_of(request)


def closed_endpoint() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture
def unplugged(tmp_path: Path) -> dict[str, str]:
    """The environment of a process on a machine where no Hub answers and nothing is cached."""
    ours = ("HF_", "KERNELS_", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    home = tmp_path / "elsewhere"
    return kept | {"HF_HOME": str(home), "HF_ENDPOINT": closed_endpoint()}


LOAD = """
import sys
import kernels
try:
    kernel = kernels.get_kernel(sys.argv[1], version=1)
except ConnectionError:
    sys.exit("no bundle")
(loaded,) = kernels.get_loaded_kernels()
print(kernel.VALUE, kernel.__file__, "huggingface_hub" in sys.modules, loaded.repo_info)
"""


def load(python: Path | str, repo: str, env: Mapping[str, str], cwd: Path) -> tuple[str, ...]:
    command = [str(python), "-c", LOAD, repo]
    done = subprocess.run(
        command, check=False, env=dict(env), cwd=cwd, capture_output=True, text=True, timeout=60
    )
    return tuple(done.stdout.split()) if done.returncode == 0 else (done.stderr.strip(),)


def test_folder_loads_without_a_network(
    project: Path, repo: str, unplugged: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "moved"
    assert main(["export", str(project), "--dir", str(tmp_path / "bundle")]) == 0
    (tmp_path / "bundle").rename(out)
    env = unplugged | {"PYTHONPATH": str(ROOT / "src")}
    assert load(sys.executable, repo, env, out) == ("no bundle",), "being in it is not naming it"
    found = load(sys.executable, repo, env | {"KERNELS_BUNDLE": str(out)}, tmp_path)
    assert found[0] == "1"
    assert found[1].startswith(str(out))
    assert found[2:] == ("False", "None"), "nothing that could use a network was imported"
    (source,) = out.rglob("torch-cpu/__init__.py")
    source.write_text("VALUE = 'evil'\n")
    (message,) = load(sys.executable, repo, env | {"KERNELS_BUNDLE": str(out)}, tmp_path)
    assert "File hash mismatch for __init__.py" in message


def make_environment(folder: Path) -> Path:
    """Make an environment that imports this project, and what it needs, from where they are."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    borrowed = (ROOT / "src", sysconfig.get_paths()["purelib"])
    (packages / "borrowed.pth").write_text("".join(f"{it}\n" for it in borrowed))
    return folder / "bin" / "python"


def pip_install(python: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index"]
    subprocess.run([*command, "--no-deps", "-q", *arguments], check=True, timeout=120)


def test_wheel_loads_once_it_is_installed(
    project: Path, repo: str, unplugged: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "wheels"
    arguments = ["export", str(project), "--wheel", str(out), "--all-variants"]
    assert main(arguments) == 0
    assert sorted(it.name for it in out.iterdir()) == [
        "kernels_bundle_my_app-1.2+torch.cpu-py3-none-any.whl",
        "kernels_bundle_my_app-1.2+torch.cuda-py3-none-any.whl",
    ]
    before = {it.name: hashlib.sha256(it.read_bytes()).hexdigest() for it in out.iterdir()}
    assert main(arguments) == 2, "nothing is overwritten"
    assert main([*arguments, "--force"]) == 0
    after = {it.name: hashlib.sha256(it.read_bytes()).hexdigest() for it in out.iterdir()}
    assert before == after
    python = make_environment(tmp_path / "venv")
    assert load(python, repo, unplugged, tmp_path) == ("no bundle",)
    pip_install(python, str(out / "kernels_bundle_my_app-1.2+torch.cpu-py3-none-any.whl"))
    bytecode = list((tmp_path / "venv").rglob("kernelmill_bundles/**/*.pyc"))
    assert bytecode, "pip compiles what it installs, and that must not matter"
    found = load(python, repo, unplugged, tmp_path)
    assert found[0] == "1"
    assert "kernelmill_bundles/kernels_bundle_my_app" in found[1]
    command = [sys.executable, "-m", "pip", "--python", str(python), "uninstall", "-q", "-y"]
    subprocess.run([*command, "kernels-bundle-my-app"], check=True, timeout=120)
    assert load(python, repo, unplugged, tmp_path) == ("no bundle",)


def loading(*repos: str) -> dict[str, bytes]:
    """Return a build that loads version 1 of other kernels."""
    files = kernel_files(sources={"needs.py": f"NAMES = {repos!r}\n"})
    metadata = metadata_format.parse(files["metadata.json"].decode(), where="metadata.json")
    wishes = tuple(KernelDependency(repo_id=RepoId.parse(it), version=1) for it in repos)
    text = metadata_format.dumps(replace(metadata, kernel_depends=wishes))
    return files | {"metadata.json": text.encode()}


def test_kernels_that_a_kernel_loads_travel_along(
    client: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path / "leaf", "acme/leaf", {"torch-universal": kernel_files(value="leaf")})
    publish(tmp_path / "top", "acme/top", {"torch-cpu": loading("acme/leaf")})
    project = make_project(tmp_path / "project", '"acme/top" = 1')
    assert main(["lock", str(project)]) == 0
    cached = [it.name for it in (tmp_path / "cache").rglob("snapshots/*/build/*/*")]
    assert cached == ["metadata.json"] * 2, "locking downloads nothing else"
    capsys.readouterr()
    arguments = ["--variant", "torch-cpu", "--json"]
    assert main(["export", str(project), "--wheel", str(tmp_path / "out"), *arguments]) == 0
    (wheel,) = json.loads(capsys.readouterr().out)["wheels"]
    assert [(it["repo_id"], it["builds"]) for it in wheel["kernels"]] == [
        ("acme/leaf", ["torch-universal"]),
        ("acme/top", ["torch-cpu"]),
    ]
    entries = json.loads((project / "kernels.lock").read_text())
    (project / "kernels.lock").write_text(json.dumps(entries[1:]))
    assert main(["export", str(project), "--dir", str(tmp_path / "bundle")]) == 2
    assert "torch-cpu of 'acme/top' loads 'acme/leaf' (version 1)" in capsys.readouterr().err


@pytest.mark.long
def test_killed_export_leaves_all_or_nothing(project: Path, repo: str, tmp_path: Path) -> None:
    """Kill it at random moments; what is there under its name always is a whole bundle."""
    assert main(["download", str(project)]) == 0
    out, chance = tmp_path / "out" / "bundle", random.Random(20261201)
    command = [sys.executable, "-m", "kernelmill.runtime", "export", str(project), "--force"]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
    seen = set()
    for _ in range(40):
        with subprocess.Popen([*command, "--dir", str(out)], env=env, stderr=subprocess.PIPE) as it:
            assert it.stderr is not None
            it.stderr.readline()  # once it collects
            time.sleep(chance.uniform(0, 0.1))
            it.kill()
        seen.add(out.exists())
        if out.exists():
            environ = {"KERNELS_BUNDLE": str(out)}
            folder = find_bundled(RepoId.parse(repo), version=1, environ=environ)
            assert folder is not None
            assert (
                check_integrity(
                    folder / "torch-cpu", read_metadata(folder / "torch-cpu").digest, root=folder
                )
                == ()
            )
            if chance.random() < 0.5:
                shutil.rmtree(out)
    assert seen == {True, False}, "the moments were well chosen"


def old_lock(project: Path, variants: Mapping[str, str]) -> None:
    """Rewrite the lock file in the format until kernels 0.16."""
    (entry,) = json.loads((project / "kernels.lock").read_text())
    hashes = {it: {"hash": x, "hash_type": "git_lfs_concat"} for it, x in variants.items()}
    old = {
        "repo_id": entry["dependency"]["repo-id"],
        "sha": entry["lock"]["commit"],
        "variants": hashes,
    }
    (project / "kernels.lock").write_text(json.dumps([old]))


def test_old_lock_is_compared_with_the_hub(
    client: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """K4: the hash covers git's ids of the text files, and the SHA-256 of large ones, the .so."""
    files = kernel_files(binaries={"_toy.so": os.urandom(1000)})
    publish(tmp_path / "kernel", "acme/old-lock", {"torch-cpu": files})
    project = make_project(tmp_path / "project", '"acme/old-lock" = 1')
    assert main(["lock", str(project)]) == 0
    blobs = {name: b"blob %d\0%s" % (len(it), it) for name, it in files.items()}
    ids = {name: hashlib.sha1(it, usedforsecurity=False).digest() for name, it in blobs.items()}
    ids["_toy.so"] = hashlib.sha256(files["_toy.so"]).digest()
    total = hashlib.sha256(b"".join(name.encode() + ids[name] for name in sorted(ids)))
    old_lock(project, {"torch-cpu": f"sha256-{total.hexdigest()}"})
    assert main(["download", str(project)]) == 0
    client.setenv("KERNELS_CACHE", str(tmp_path / "another"))
    old_lock_file = json.loads((project / "kernels.lock").read_text())
    old_lock_file[0]["variants"]["torch-cpu"]["hash"] = f"sha256-{'0' * 64}"
    (project / "kernels.lock").write_text(json.dumps(old_lock_file))
    capsys.readouterr()
    assert main(["download", str(project)]) == 1
    hashes = f"expected sha256-{'0' * 64}, got sha256-{total.hexdigest()}"
    assert f"build/torch-cpu is not what was locked: {hashes}" in capsys.readouterr().err
    assert not list((tmp_path / "another").rglob("_toy.so"))
    (project / "kernels.lock").write_text(json.dumps([{**old_lock_file[0], "variants": {}}]))
    assert main(["export", str(project), "--dir", str(tmp_path / "bundle")]) == 0
    listed = json.loads((tmp_path / "bundle/kernels-bundle.json").read_text())
    assert listed["kernels"][0]["version"] == 1, "the builds know it"


def test_downloaded_kernels_are_exported_with_the_hub_switched_off(
    project: Path, client: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["download", str(project)]) == 0
    client.setenv("HF_ENDPOINT", os.environ["HF_ENDPOINT"])
    client.setenv("HF_HUB_OFFLINE", "1")
    assert main(["export", str(project), "--dir", str(tmp_path / "bundle")]) == 0
    assert len(list((tmp_path / "bundle").rglob("metadata.json"))) == 1


def test_untrusted_publisher_is_neither_locked_nor_fetched(
    server: RunningHub,
    client: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.run("org", "create", "nobody-knows")
    publish(tmp_path / "kernel", "nobody-knows/toy", {"torch-cpu": kernel_files()})
    project = str(make_project(tmp_path / "project", '"nobody-knows/toy" = 1'))
    assert main(["lock", project]) == 1
    assert "--allow nobody-knows/toy" in capsys.readouterr().err
    assert main(["lock", project, "--allow", "nobody-knows/toy"]) == 0
    assert main(["download", project]) == 1
    assert main(["export", project, "--dir", str(tmp_path / "bundle")]) == 1
    assert not (tmp_path / "bundle").exists()
    assert main(["download", project, "--trust-remote-code"]) == 0


PEER = """
import sys
sys.path.append(sys.argv[3])
import kernels
from pathlib import Path
from kernels.cli import main
assert kernels.__version__ == "0.17.2" and ".venv-peer" in kernels.__file__, kernels.__file__
sys.argv[1:], (repo, folder) = ["download", sys.argv[2]], sys.argv[1:3]
main()
print(kernels.get_locked_kernel(repo, lockfile=Path(folder) / "kernels.lock").VALUE)
"""


def test_peer_reads_our_lock_file(project: Path, repo: str, tmp_path: Path) -> None:
    peer = ROOT / ".venv-peer" / "bin" / "python"
    if not peer.exists():
        pytest.fail("the PyPI kernels package is not set up: run make .venv-peer/ready")
    # PyTorch is borrowed from our environment; everything else is the peer's own.
    command = [str(peer), "-c", PEER, repo, str(project), sysconfig.get_path("purelib")]
    env = os.environ | {"KERNELS_CACHE": str(tmp_path / "peer")}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, check=False, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "1\n", done.stderr
    assert f"Downloading kernel: {repo}" in done.stderr


SETUP = """
import sys
from setuptools import Distribution
from kernelmill.runtime.locking import write_egg_lockfile
command = Distribution({"name": "app", "version": "1"}).get_command_obj("egg_info")
command.ensure_finalized()
write_egg_lockfile(command, "kernels.lock", "app.egg-info/kernels.lock")
"""


def test_setuptools_puts_the_lock_into_the_metadata(tmp_path: Path) -> None:
    text = json.dumps([])
    write_files(tmp_path, {"kernels.lock": text.encode(), "app.egg-info/x": b""})
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", SETUP], check=True, cwd=tmp_path, env=env, timeout=60)
    assert (tmp_path / "app.egg-info/kernels.lock").read_text() == text
    (tmp_path / "kernels.lock").unlink()
    subprocess.run([sys.executable, "-c", SETUP], check=True, cwd=tmp_path, env=env, timeout=60)
    assert not (tmp_path / "app.egg-info/kernels.lock").exists()

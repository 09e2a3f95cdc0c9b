"""SDKs and builds through a Hub's cache: our own commands, and Nix with the same entries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from demo.hub import serving
from tests.integration.flakes import made_up_lock, make_kernel
from tests.nix_tools import Nix

from kernelmill.builder.cache.releases import orders_of, release_key
from kernelmill.builder.cache.sdks import tree_path
from kernelmill.builder.locking.files import read_lock
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import Sdk, Store
from kernelmill.builder.sources import read_tree
from kernelmill.spec.nix_store import path_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo.hub import RunningHub

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "http://127.0.0.1:1/simple"
"""What pip is told to ask: nobody answers, so whatever arrives came from a cache."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub"), "--trust", "acme") as running:
        yield running


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine's store and environment."""

    env: dict[str, str]
    store: Store

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kernelmill.builder", *map(str, arguments)],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def want(self, *arguments: str | Path) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def machine(folder: Path, hub: RunningHub, **more: str) -> Machine:
    env = {
        **os.environ,
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": hub.token,
        "KERNELMILL_SDKS": str(folder / "sdks"),
        "KERNELMILL_CACHES": f"{hub.url}/nix/acme",
        "PIP_INDEX_URL": NOWHERE,
        "PIP_RETRIES": "0",
        "PYTHONPATH": os.pathsep.join(it for it in sys.path if it),
        **more,
    }
    return Machine(env=env, store=Store(folder / "sdks"))


@pytest.fixture(scope="module")
def maker(hub: RunningHub, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine that has a key and has pushed an SDK."""
    folder = tmp_path_factory.mktemp("maker")
    made = machine(folder, hub, KERNELMILL_CACHE_KEY=str(folder / "key"))
    made.want("cache", "keygen", "acme-1", folder / "key")
    tree = folder / "tree"
    (tree / "torch/include").mkdir(parents=True)
    for number in range(200):
        (tree / f"torch/include/{number}.h").write_text(f"// {number}\n" * 100)
    (tree / "torch/tool").write_text("#!/bin/sh\n")
    (tree / "torch/tool").chmod(0o755)
    (tree / "link").symlink_to("torch")
    record = SdkRecord(
        kind="torch",
        version="2.98.0+cpu",
        platform="x86_64-linux",
        inputs=(),
        nar_sha256=nar_sha256(tree),
    )
    made.store.install(record, tree)
    made.want("cache", "push", "torch-2.98.0+cpu")
    return made


@pytest.fixture(scope="module")
def public(maker: Machine) -> str:
    return Path(f"{maker.env['KERNELMILL_CACHE_KEY']}.pub").read_text()


def only_sdk(store: Store) -> Sdk:
    (found,) = store.installed()
    return found


@pytest.mark.parametrize("command", ["sdk fetch", "cache pull"])
def test_sdk_arrives_from_the_cache_alone(
    command: str, hub: RunningHub, maker: Machine, public: str, tmp_path: Path
) -> None:
    reader = machine(tmp_path, hub, KERNELMILL_TRUSTED_KEYS=public)
    done = reader.run(*command.split(), "torch-2.98.0")
    assert done.returncode == 0, done.stderr
    assert f"torch-2.98.0+cpu: from {hub.url}/nix/acme: 0.0 MB, 0." in done.stderr
    assert "MB unpacked, in 0." in done.stderr
    assert only_sdk(reader.store).record == only_sdk(maker.store).record
    assert reader.want("sdk", "verify") == "torch-2.98.0+cpu: as it was made"


@pytest.mark.usefixtures("maker")
def test_sdk_that_nobody_trusted_signed_is_refused_in_one_line(
    hub: RunningHub, tmp_path: Path
) -> None:
    reader = machine(tmp_path, hub)
    done = reader.run("cache", "pull", "torch-2.98.0")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith("torch-2.98.0.json: is signed by acme-1, whom nobody trusts here")
    assert not reader.store.installed()
    # `fetch` says it too, and goes on to the index, which is not there.
    done = reader.run("sdk", "fetch", "torch-2.98.0")
    assert done.returncode == 3
    assert "whom nobody trusts here\nmaking torch-2.98.0 here instead" in done.stderr


def test_info_says_what_there_is(
    hub: RunningHub, maker: Machine, public: str, tmp_path: Path
) -> None:
    reader = machine(tmp_path, hub, KERNELMILL_TRUSTED_KEYS=public)
    found = json.loads(reader.want("cache", "info", "--json", "torch-2.98.0", "torch-2.97.0"))
    assert found["version"] == 1
    (cache,) = found["caches"]
    assert cache["entries"] == {"torch-2.98.0": "signed by acme-1", "torch-2.97.0": "not here"}
    done = reader.run("cache", "info", "--from", "http://127.0.0.1:1/nix/acme")
    assert done.returncode == 1
    assert "does not answer: [Errno 111] Connection refused" in done.stdout


def test_pushing_needs_a_token(maker: Machine) -> None:
    stranger = Machine(env={**maker.env, "HF_TOKEN": ""}, store=maker.store)
    build = maker.store.folder.parent / "unsent/build/torch-cpu"
    build.mkdir(parents=True, exist_ok=True)
    (build / "metadata.json").write_text("{}")
    done = stranger.run("cache", "push", "--build", build, "--build-key", "k")
    assert done.returncode == 4
    assert "a token is needed to write: log in, or pass token=... (HTTP 401)" in done.stderr
    assert "hint: set HF_ENDPOINT and HF_TOKEN" in done.stderr


def test_other_sdk_of_the_same_name_is_refused(
    hub: RunningHub, maker: Machine, tmp_path: Path
) -> None:
    other = machine(tmp_path, hub, KERNELMILL_CACHE_KEY=maker.env["KERNELMILL_CACHE_KEY"])
    (tmp_path / "tree").mkdir()
    record = SdkRecord(
        kind="torch",
        version="2.98.0+cpu",
        platform="x86_64-linux",
        inputs=(),
        nar_sha256=nar_sha256(tmp_path / "tree"),
    )
    other.store.install(record, tmp_path / "tree")
    done = other.run("cache", "push", "torch-2.98.0")
    assert done.returncode == 4
    assert "is here with other content" in done.stderr


def test_build_goes_through_the_cache(
    hub: RunningHub, maker: Machine, public: str, tmp_path: Path
) -> None:
    build = tmp_path / "maker/build/torch-cpu"
    build.mkdir(parents=True)
    (build / "metadata.json").write_text("{}")
    maker.want("cache", "push", "--build", build, "--build-key", "k1")
    reader = machine(tmp_path, hub, KERNELMILL_TRUSTED_KEYS=public)
    target = tmp_path / "reader/build/torch-cpu"
    assert reader.want("cache", "pull", "--build", target, "--build-key", "k1") == str(target)
    assert (target / "metadata.json").read_text() == "{}"
    done = reader.run("cache", "pull", "--build", target, "--build-key", "k2")
    assert done.returncode == 4
    assert "no cache has torch-cpu of this key" in done.stderr


def test_nix_takes_our_entries(
    hub: RunningHub, maker: Machine, public: str, tmp_path: Path
) -> None:
    sdk = only_sdk(maker.store)
    nix = Nix(folder=tmp_path)
    cache, path = f"{hub.url}/nix/acme", tree_path(sdk.record)
    nix.want("copy", "--from", cache, "--option", "trusted-public-keys", public, path)
    nix.want("store", "verify", "--option", "trusted-public-keys", public, path)
    got = nix.folder / f"store{path}"
    assert nar_sha256(got) == sdk.record.nar_sha256


def test_derivation_of_an_sdk_takes_it_from_the_cache(
    hub: RunningHub, maker: Machine, tmp_path: Path
) -> None:
    """Its path says what it holds, so that no key is needed."""
    sdk = only_sdk(maker.store)
    nix = Nix(folder=tmp_path, substitute="true", settings=f"substituters = {hub.url}/nix/acme\n")
    expression = f"""import {ROOT}/nix/packs.nix {{ system = "x86_64-linux"; }}
      (builtins.fromJSON (builtins.readFile {sdk.folder}/sdk.json))"""
    nix.want("build", "--impure", "--no-link", "--expr", expression)
    assert (nix.folder / f"store{tree_path(sdk.record)}/link").is_symlink()


def test_import_puts_an_sdk_where_derivations_look(maker: Machine, tmp_path: Path) -> None:
    nix = Nix(folder=tmp_path)
    sdk = only_sdk(maker.store)
    nix.want("--version")  # skips where there is none
    store = tmp_path / "nix"
    printed = maker.want("nix", "import", "--store", store)
    assert printed == tree_path(sdk.record)
    assert nar_sha256(Path(f"{store}{printed}")) == sdk.record.nar_sha256


def test_poisoned_archive_is_refused(
    hub: RunningHub, maker: Machine, public: str, tmp_path: Path
) -> None:
    """The Hub's disk is in other hands: the entry is signed, its archive is another one's."""
    made = only_sdk(maker.store)
    folder = hub.data / "objects/nix/acme/public"
    entry = folder / f"{path_hash(tree_path(made.record))}.narinfo"
    url = next(
        it.removeprefix("URL: ") for it in entry.read_text().splitlines() if it.startswith("URL")
    )
    whole = (folder / url).read_bytes()
    others = [it for it in (folder / "nar").iterdir() if it.name != Path(url).name]
    reader = machine(tmp_path, hub, KERNELMILL_TRUSTED_KEYS=public)
    try:
        (folder / url).write_bytes(others[0].read_bytes())
        done = reader.run("cache", "pull", "torch-2.98.0")
    finally:
        (folder / url).write_bytes(whole)
    assert done.returncode == 1
    assert "the archive's NAR sha256 is" in done.stderr
    assert not reader.store.installed()


METADATA = {
    "id": "_relu_stable_cpu_0123456789",
    "name": "relu-stable",
    "version": 1,
    "license": "Apache-2.0",
    "python-depends": [],
    "backend": {"type": "cpu"},
}


@dataclass(frozen=True, kw_only=True)
class Released:
    """A kernel in git whose release build is in the cache; nobody has its SDKs."""

    folder: Path
    variant: str


@pytest.fixture
def released(maker: Machine, tmp_path: Path) -> Released:
    variant = "torch210-cxx11-cpu-x86_64-linux"
    lock = made_up_lock([variant])
    kernel = make_kernel(tmp_path / "kernel", ROOT / "examples/relu-stable", lock=lock)
    tree = read_tree(kernel.folder)
    (order,) = orders_of(tree, *read_lock(kernel.folder), [variant])
    build = tmp_path / "made/build" / variant
    build.mkdir(parents=True)
    (build / "metadata.json").write_text(json.dumps(METADATA))
    (build.parent / f"{variant}.intoto.json").write_text("a statement")
    key = release_key(tree, order)
    maker.want("cache", "push", "--build", build, "--build-key", key)
    return Released(folder=kernel.folder, variant=variant)


def test_release_arrives_without_sdks_and_without_compiling(
    hub: RunningHub, public: str, released: Released, tmp_path: Path
) -> None:
    reader = machine(tmp_path, hub, KERNELMILL_TRUSTED_KEYS=public)
    done = reader.run("build", "--release", released.folder)
    assert done.returncode == 0, done.stderr
    assert f"{released.variant}: from {hub.url}/nix/acme: " in done.stderr
    assert done.stdout.strip() == str(released.folder / "build" / released.variant)
    statement = released.folder / "build" / f"{released.variant}.intoto.json"
    assert statement.read_text() == "a statement"
    # C14: what is asked for by one byte more is another build, and that one has to be made.
    source = released.folder / "relu/relu_cpu.cpp"
    source.write_text(source.read_text() + "\n")
    done = reader.run("build", "--release", released.folder)
    assert done.returncode == 3
    assert "the SDK cxx-12.2.0 is not here" in done.stderr


def test_release_that_nobody_trusted_signed_is_built_instead(
    hub: RunningHub, released: Released, tmp_path: Path
) -> None:
    reader = machine(tmp_path, hub)
    done = reader.run("build", "--release", released.folder)
    assert done.returncode == 3
    said = f"whom nobody trusts here\nbuilding {released.variant} here instead"
    assert said in done.stderr
    assert not (released.folder / "build").exists()


def test_release_is_pushed_only_as_what_it_is(maker: Machine, released: Released) -> None:
    """A build by hand, with a statement that somebody put beside it."""
    build = released.folder / "build" / released.variant
    build.mkdir(parents=True)
    (build / "metadata.json").write_text(json.dumps(METADATA))
    (build.parent / f"{released.variant}.intoto.json").write_text("a statement")
    done = maker.run("cache", "push", "--release", released.folder)
    assert done.returncode == 2
    assert "this was not built in a sandbox" in done.stderr


@pytest.mark.long
def test_sdk_of_pytorch_and_a_build_arrive_in_five_seconds() -> None:
    """Of CPU time: wall time is for the benchmark, since this machine may be busy."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.caches"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "s of CPU, target 5 s" in done.stdout
    assert "MB unpacked, in" in done.stderr

"""Time binary caches on loopback: ``python -m benchmarks.caches [--json FILE]``.

The SDK of PyTorch and a build go to an empty Hub and come back into an empty store, with no index
to fall back to; what arrives is compared with its hash before a time counts. The peer is
``nix copy`` of the same entry from the same Hub. CPU time is that of the client and its children;
wall time depends on how busy the disk is, since an SDK is ten thousand files.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from demo.hub import serving

from kernelmill.builder.cache.sdks import tree_path
from kernelmill.builder.sdk.format import SdkRecord
from kernelmill.builder.sdk.nar import nar_sha256
from kernelmill.builder.sdk.store import Sdk, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from demo.hub import RunningHub

ROOT: Final = Path(__file__).resolve().parent.parent
TARGET_S: Final = 5.0
"""For the SDK and the build together."""
REPEATS: Final = 3
MADE_UP_FILES: Final = 9_400


def main() -> int:
    """Print a table, and say whether the target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        serving(Path(name) / "hub", "--trust", "acme") as hub,
    ):
        rows = measure(Path(name), hub)
    for row in rows:
        print(f"{row['what']:<44} {row['wall_s']:6.2f} s, {row['cpu_s']:5.2f} s of CPU")
    if args.json:
        document = {"version": 1, "target_s": TARGET_S, "repeats": REPEATS, "rows": rows}
        args.json.write_text(json.dumps(document, indent=2) + "\n")
    ours = [it for it in rows if it["is_target"]]
    total = sum(float(str(it["cpu_s"])) for it in ours)
    print(f"SDK and build: {total:.2f} s of CPU, target {TARGET_S:.0f} s")
    return 0 if total <= TARGET_S else 1


def measure(folder: Path, hub: RunningHub) -> list[dict[str, object]]:
    """Return what was timed."""
    sdk = find_sdk(folder / "made")
    env = {
        **os.environ,
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": hub.token,
        "KERNELMILL_SDKS": str(sdk.folder.parent),
        "KERNELMILL_CACHES": f"{hub.url}/nix/acme",
        "KERNELMILL_CACHE_KEY": str(folder / "key"),
        "PIP_INDEX_URL": "http://127.0.0.1:1/simple",
    }
    public = run(env, "cache", "keygen", "bench-1", str(folder / "key"))
    build = make_build(folder)
    name = sdk.record.name
    rows = [
        timed(f"push {name}", lambda: run(env, "cache", "push", name)),
        timed("push a build", lambda: run(env, "cache", "push", *named(build))),
    ]
    reader = {**env, "KERNELMILL_TRUSTED_KEYS": public}
    fetched = [folder / f"store-{number}" for number in range(REPEATS)]
    pulls = [
        timed(
            f"pull {name}",
            lambda store=store: run(
                {**reader, "KERNELMILL_SDKS": str(store)}, "sdk", "fetch", name
            ),  # type: ignore[misc]
            is_target=True,
        )
        for store in fetched
    ]
    for store in map(Store, fetched):
        (got,) = store.installed()
        if problem := store.verify(got):
            raise RuntimeError(problem)
    target = folder / "fetched/build/torch-cpu"
    rows.append(min(pulls, key=lambda it: float(str(it["cpu_s"]))))
    rows.append(
        timed("pull a build", lambda: run(reader, "cache", "pull", *named(target)), is_target=True)
    )
    if nar_sha256(target) != nar_sha256(build):
        raise RuntimeError("the build is not the one that was pushed")
    if shutil.which("nix"):
        rows.append(timed(f"peer: nix copy {name}", lambda: nix_copy(folder, hub, sdk, public)))
    return rows


def find_sdk(folder: Path) -> Sdk:
    """Return an SDK of PyTorch; a made-up one of its size where none was fetched."""
    here = open_store(os.environ).find("torch", "2.13")
    if here:
        return here
    tree = folder / "tree"
    text = b"#pragma once\n// a header of PyTorch has five thousand bytes\n" * 80
    for number in range(MADE_UP_FILES):
        file = tree / f"torch/include/{number % 300}/{number}.h"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"%d\n" % number + text)
    record = SdkRecord(
        kind="torch",
        version="2.13.0+made.up",
        platform="x86_64-linux",
        inputs=(),
        nar_sha256=nar_sha256(tree),
    )
    return Store(folder / "sdks").install(record, tree)


def make_build(folder: Path) -> Path:
    """Return a folder of the size of the flagship's CPU variant."""
    build = folder / "made/build/torch-cpu"
    build.mkdir(parents=True)
    (build / "metadata.json").write_text("{}")
    (build / "kernel.so").write_bytes(os.urandom(1 << 17) + bytes(1 << 17))
    return build


def named(build: Path) -> tuple[str, ...]:
    """Return the options that name a build."""
    return ("--build", str(build), "--build-key", "a benchmark's")


def timed(what: str, act: Callable[[], object], *, is_target: bool = False) -> dict[str, object]:
    """Return how long ``act`` took."""
    before, started = cpu_s(), time.perf_counter()
    act()
    wall = time.perf_counter() - started
    return {
        "what": what,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu_s() - before, 3),
        "is_target": is_target,
    }


def cpu_s() -> float:
    """Return the CPU time of children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(env: dict[str, str], *arguments: str) -> str:
    """Run ``kernel-builder`` and return what it printed; its notes say MB and seconds."""
    command = [sys.executable, "-m", "kernelmill.builder", *arguments]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    return done.stdout.strip()


def nix_copy(folder: Path, hub: RunningHub, sdk: Sdk, public: str) -> None:
    """Fetch the same entry with Nix into a store of its own."""
    config = f"experimental-features = nix-command\nbuild-users-group =\nstore = {folder}/nix\n"
    subprocess.run(
        ["nix", "copy", "--from", f"{hub.url}/nix/acme", "--option", "trusted-public-keys", public,
         tree_path(sdk.record)],
        env={**os.environ, "NIX_CONFIG": config, "HOME": str(folder)},
        check=True,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

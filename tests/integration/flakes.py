"""A repository with this project's flake in it, and a kernel that names it by a relative path."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.builder.locking import format as lock_format
from kernelmill.builder.locking.format import Lock
from kernelmill.builder.sdk.format import SdkRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]
FLAKE = """\
{
  description = "a kernel";

  inputs = {
    kernel-builder.url = "path:../..";
  };

  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genKernelFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
"""
VARIANTS = (
    "torch29-cxx11-cpu-x86_64-linux",
    "torch210-cxx11-cpu-x86_64-linux",
    "torch210-cxx11-rocm72-x86_64-linux",
    "torch210-cxx11-cu130-x86_64-linux",
)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel's folder in a repository of its own."""

    repo: Path
    folder: Path

    def commit(self) -> None:
        """Commit all that is there."""
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        for command in (("add", "-A"), (*identity, "commit", "-qm", "all", "--allow-empty")):
            subprocess.run(["git", *command], cwd=self.repo, check=True, timeout=60)


def make_kernel(folder: Path, files: Path, *, lock: str) -> Kernel:
    """Return a repository with the flake, and a kernel of ``files`` locked by ``lock``."""
    repo = folder / "repo"
    ignore = shutil.ignore_patterns("__pycache__", "build", ".kernelmill")
    shutil.copytree(ROOT / "nix", repo / "nix")
    shutil.copytree(ROOT / "src/kernelmill", repo / "src/kernelmill", ignore=ignore)
    shutil.copyfile(ROOT / "flake.nix", repo / "flake.nix")
    shutil.copytree(files, repo / "examples/kernel", ignore=ignore)
    kernel = Kernel(repo=repo, folder=repo / "examples/kernel")
    (kernel.folder / "flake.nix").write_text(FLAKE)
    (kernel.folder / "build.lock").write_text(lock)
    (repo / ".gitignore").write_text("flake.lock\nresult*\nbuild/\n.kernelmill/\n")
    subprocess.run(["git", "init", "-q"], cwd=repo, check=True, timeout=60)
    kernel.commit()
    return kernel


def move_apart(kernel: Kernel, target: Path) -> Kernel:
    """Return the kernel in a repository of its own, which names the other one by its address."""
    shutil.copytree(kernel.folder, target)
    flake = FLAKE.replace("path:../..", f"git+file://{kernel.repo}")
    (target / "flake.nix").write_text(flake)
    (target / ".gitignore").write_text("result*\nbuild/\n.kernelmill/\n")
    subprocess.run(["git", "init", "-q"], cwd=target, check=True, timeout=60)
    moved = Kernel(repo=target, folder=target)
    moved.commit()
    return moved


def made_up_lock(variants: Iterable[str] = VARIANTS) -> str:
    """Return a lock to SDKs that nobody has."""
    sdks = {
        it.name: it
        for number, (kind, version) in enumerate(
            (("cxx", "12.2.0"), ("tools", "1"), ("torch", "2.10.0+cpu"))
        )
        for it in [
            SdkRecord(
                kind=kind,
                version=version,
                platform="x86_64-linux",
                inputs=(),
                nar_sha256=f"{number}" * 64,
            )
        ]
    }
    return lock_format.dumps(Lock(sdks=sdks, variants=dict.fromkeys(variants, tuple(sdks))))

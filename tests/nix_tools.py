"""Nix in a store of its own, without ``/nix``, and what tests of binary caches send by hand."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.conftest import require_program

from kernelmill.spec import narinfo
from kernelmill.spec.narinfo import NarInfo
from kernelmill.spec.nix_store import keyed_path

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
experimental-features = nix-command flakes
build-users-group =
substitute = {substitute}
sandbox = true
store = {store}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nix:
    """One user's Nix."""

    folder: Path
    settings: str = ""
    substitute: str = "false"
    env: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def run(
        self, *arguments: str | Path, stdin: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ``nix`` with arguments; the caller looks at the status."""
        config = CONFIG.format(store=self.folder / "store", substitute=self.substitute)
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            [require_program("nix", package="nix-bin"), *map(str, arguments)],
            env={**self.env, "NIX_CONFIG": config + self.settings, "HOME": str(home)},
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",  # of programs that do not start, Nix prints some bytes of its own
            timeout=300,
            check=False,
            cwd=cwd,
        )

    def want(
        self, *arguments: str | Path, stdin: str | None = None, cwd: Path | None = None
    ) -> str:
        """Run ``nix`` and return what it printed; it has to succeed."""
        done = self.run(*arguments, stdin=stdin, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def nar_of(content: bytes) -> bytes:
    """Return the archive of a file."""
    words = [b"nix-archive-1", b"(", b"type", b"regular", b"contents", content, b")"]
    return b"".join(len(it).to_bytes(8, "little") + it + bytes(-len(it) % 8) for it in words)


def entry_of(content: bytes, *, key: str = "a-test", name: str = "thing") -> tuple[NarInfo, bytes]:
    """Return an entry without compression, signed by nobody who exists, and its archive."""
    nar = nar_of(content)
    digest = hashlib.sha256(nar).hexdigest()
    signature = base64.b64encode(hashlib.sha512(content).digest()).decode()
    info = NarInfo(
        store_path=keyed_path(key, name),
        url=narinfo.nar_url(digest, "none"),
        compression="none",
        file_sha256=digest,
        file_bytes=len(nar),
        nar_sha256=digest,
        nar_bytes=len(nar),
        signatures=(f"nobody-1:{signature}",),
    )
    return info, nar

"""An export that was killed between its two renames: nothing is lost, and the next run repairs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from kernelmill.runtime.bundles import FILE_NAME, parse_bundle_paths
from kernelmill.runtime.errors import BundleError
from kernelmill.runtime.export_folder import put_back, write_folder
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

KILLED: Final = """
import os, signal, sys
from pathlib import Path
from kernelmill.runtime.export_folder import _swap
rename = Path.rename
def killed(path, target):
    if path.name == "new":
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)
Path.rename = killed
work, out = map(Path, sys.argv[1:])
_swap(work / "new", out, work / "old")
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The path of a bundle whose replacing was killed halfway."""
    out, work = tmp_path / "out", tmp_path / ".out.abc"
    for folder in (out, work / "new"):
        folder.mkdir(parents=True)
        (folder / FILE_NAME).write_text(folder.name)
    done = subprocess.run([sys.executable, "-c", KILLED, str(work), str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    return out


def test_bundle_is_put_back_by_the_next_run(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    put_back(killed)
    assert (killed / FILE_NAME).read_text() == "out"
    assert os.listdir(killed.parent) == ["out"]  # noqa: PTH208 - with hidden names
    assert "an export was interrupted; the bundle that was there is put back" in caplog.text


def test_export_repairs_before_it_says_that_something_is_there(killed: Path) -> None:
    with pytest.raises(BundleError, match="is there already"):
        write_folder(None, killed)  # type: ignore[arg-type]
    assert (killed / FILE_NAME).read_text() == "out"


def test_loading_says_where_the_bundle_is(killed: Path) -> None:
    with pytest.raises(InputError, match="there is no bundle in") as caught:
        parse_bundle_paths(str(killed))
    old = killed.parent / ".out.abc" / "old"
    assert (
        caught.value.hint == f"an export was interrupted: run it again, or rename '{old}' to 'out'"
    )


def test_what_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".out.abc" / "old").mkdir(parents=True)
    put_back(tmp_path / "out")
    assert not (tmp_path / "out").exists()

"""The distribution `kernels` 0.18.2: it is metadata and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from typing import TYPE_CHECKING

import pytest

import kernelmill

if TYPE_CHECKING:
    from pathlib import Path

BUILD = "import hatchling.build as b, sys; print(b.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", BUILD, str(folder)]
    done = subprocess.run(
        command, check=True, cwd=root / "compat", stdout=subprocess.PIPE, text=True, timeout=60
    )
    return folder / done.stdout.strip()


def test_wheel_holds_metadata_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    info = f"kernels-{kernelmill.API_VERSION}.dist-info"
    assert {name.partition("/")[0] for name in names} == {info}
    assert sorted(name.partition("/")[2] for name in names) == ["METADATA", "RECORD", "WHEEL"]


def test_wheel_has_the_version_of_the_interface_and_requires_kernelmill(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"kernels-{kernelmill.API_VERSION}.dist-info/METADATA").decode()
    metadata = Parser().parsestr(text)
    assert (metadata["Name"], metadata["Version"]) == ("kernels", kernelmill.API_VERSION)
    assert metadata.get_all("Requires-Dist") == [
        "kernelmill",
        "kernelmill[benchmark]; extra == 'benchmark'",
    ]
    # The command and setuptools' hook are kernelmill's: were they here, too, removing this
    # distribution would take them away.
    assert not any("entry_points" in name for name in zipfile.ZipFile(wheel).namelist())


@pytest.fixture
def python(root: Path) -> Path:
    """Return a Python with kernelmill installed, and setuptools."""
    python = root / ".venv-transformers" / "bin" / "python"
    if not python.exists():
        pytest.fail("kernelmill is not installed: run make .venv-transformers/ready")
    return python


LOCK = '[{"dependency": {"repo-id": "acme/toy", "version": 1}, "lock": {"commit": "%s"}}]' % (
    "ab" * 20
)


@pytest.mark.parametrize(
    ("files", "status", "locked"),
    [
        pytest.param({}, 0, None, id="a-project-without-kernels"),
        pytest.param({"kernels.lock": LOCK}, 0, LOCK, id="a-project-that-locks-kernels"),
        pytest.param({"kernels.lock": "{"}, 1, None, id="a-damaged-lock"),
    ],
)
def test_setuptools_puts_the_lock_into_a_packages_metadata(
    python: Path, tmp_path: Path, files: dict[str, str], status: int, locked: str | None
) -> None:
    """The hook runs for every project of the environment: it must break none."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "app"\nversion = "1"\n')
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), "-c", "from setuptools import setup; setup()", "egg_info"],
        check=False,
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    path = tmp_path / "app.egg-info" / "kernels.lock"
    assert (path.read_text() if path.exists() else None) == locked
    if status:
        assert "Cannot parse KernelLocks" in done.stderr


def test_installed_distributions_answer_as_transformers_asks(python: Path) -> None:
    script = (
        "import importlib.metadata as m, json; print(json.dumps([m.version('kernels'), "
        "[str(it) for it in m.files('kernels') if it.suffix == '.py'], "
        "[it.value for it in m.entry_points(group='egg_info.writers', name='kernels.lock')]]))"
    )
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-c", script]
    done = subprocess.run(
        command, check=True, env=environ, stdout=subprocess.PIPE, text=True, timeout=60
    )
    version, code, hooks = json.loads(done.stdout)
    assert version == kernelmill.API_VERSION
    assert code == [], "the package is kernelmill's"
    assert hooks == ["kernels.locking:write_egg_lockfile"]

from __future__ import annotations

import json
import site
import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, write_files

from kernelmill.runtime import api, resolvers
from kernelmill.runtime.bundles import (
    FILE_NAME,
    PACKAGE,
    VARIABLE,
    find_bundled,
    parse_bundle_paths,
)
from kernelmill.runtime.bundles_format import Bundle, BundledKernel, dumps, parse
from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import BundleError
from kernelmill.runtime.export import gather, read_builds
from kernelmill.runtime.export_folder import write_folder
from kernelmill.spec import lockfile as lock_format
from kernelmill.spec.errors import DigestMismatch, InputError, NoVariant
from kernelmill.spec.lockfile import LockedKernel, Lockfile
from kernelmill.spec.names import RepoId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOY = RepoId.parse("acme/toy")
ONE, TWO = "1" * 40, "2" * 40


def make_bundle(
    out: Path,
    *kernels: LockedKernel,
    builds: Mapping[str, Mapping[str, bytes]] | None = None,
) -> Path:
    """Write a bundle in which every kernel has the same builds."""
    source = out.parent / f"{out.name}-source"
    files = builds or {"torch-cpu": kernel_files()}
    folders = [write_files(source / name, content) for name, content in files.items()]
    write_folder(gather([read_builds(it, folders) for it in kernels], "[]"), out)
    return out


def locked(version: int | None = 1, commit: str = ONE, revision: str | None = None) -> LockedKernel:
    return LockedKernel(repo_id=TOY, version=version, revision=revision, commit=commit)


def test_kernel_of_a_named_bundle_is_found_and_loads(
    process_session: MemoryHub, tmp_path: Path
) -> None:
    out = make_bundle(tmp_path / "bundle", locked())
    found = find_bundled(TOY, version=1, environ={VARIABLE: str(out)})
    assert found == out / f"kernels/acme--toy/{ONE}/build"
    assert api.get_local_kernel(found).VALUE == 1
    assert process_session.calls == [], "no Hub is asked"
    other = RepoId.parse("acme/other")
    assert find_bundled(other, version=1, environ={VARIABLE: str(out)}) is None


@pytest.mark.parametrize(
    ("version", "revision", "commit"),
    [
        pytest.param(1, None, ONE, id="version"),
        pytest.param(2, None, TWO, id="another-version"),
        pytest.param(3, None, None, id="missing-version"),
        pytest.param(None, "v1", ONE, id="version-as-branch"),
        pytest.param(None, ONE, ONE, id="commit"),
        pytest.param(None, "main", TWO, id="revision"),
        pytest.param(None, "dev", None, id="missing-revision"),
        pytest.param(None, None, TWO, id="neither-is-the-newest"),
    ],
)
def test_bundle_answers_what_is_meant(
    version: int | None, revision: str | None, commit: str | None
) -> None:
    kernels = (
        BundledKernel(repo_id=TOY, version=1, commit=ONE),
        BundledKernel(repo_id=TOY, version=2, commit=TWO),
        BundledKernel(repo_id=TOY, revision="main", commit=TWO),
    )
    found = Bundle(kernels=kernels, files={}).find(TOY, version=version, revision=revision)
    assert (found.commit if found else None) == commit


def test_list_of_a_bundle_survives_a_round_trip() -> None:
    kernels = (
        BundledKernel(repo_id=TOY, version=2, commit=TWO),
        BundledKernel(repo_id=TOY, revision="main", commit=TWO),
    )
    bundle = Bundle(kernels=kernels, files={"kernels.lock": "a" * 64})
    assert parse(dumps(bundle)) == bundle
    assert dumps(Bundle(kernels=kernels[::-1], files=bundle.files)) == dumps(bundle)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("{", "not valid JSON", id="no-json"),
        pytest.param("[]", r"\[\] is an array", id="no-table"),
        pytest.param('{"version": 2, "kernels": [], "files": {}}', "format 2 is not", id="newer"),
        pytest.param('{"version": 1, "kernels": []}', "missing key 'files'", id="no-files"),
        pytest.param(
            f'{{"version": 1, "kernels": [], "files": {{"../x": "{ONE}"}}}}',
            "'../x' is not the name of a file in a bundle",
            id="file-outside",
        ),
        pytest.param(
            '{"version": 1, "kernels": [], "files": {"x": "abc"}}', "'abc' is not 64", id="hash"
        ),
        pytest.param(
            '{"version": 1, "files": {}, "kernels": [{"repo-id": "a/b", "version": 1, '
            '"commit": "../../etc"}]}',
            "'../../etc' is not a commit",
            id="commit",
        ),
        pytest.param(
            f'{{"version": 1, "files": {{}}, "kernels": [{{"repo-id": "a/b", "commit": "{ONE}"}}]'
            "}",
            "give either a version or a revision",
            id="neither",
        ),
    ],
)
def test_list_that_makes_no_sense_is_refused(content: str, message: str) -> None:
    with pytest.raises(BundleError, match=message) as caught:
        parse(content, where="x/kernels-bundle.json")
    assert str(caught.value).startswith("x/kernels-bundle.json")


def test_bundle_in_the_working_directory_is_never_picked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bundle(tmp_path / PACKAGE / "app", locked())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend("")
    assert find_bundled(TOY, version=1, environ={}) is None
    assert find_bundled(TOY, version=1, environ={VARIABLE: ":"}) is None, "nothing is named"
    monkeypatch.chdir(tmp_path / PACKAGE / "app")
    assert find_bundled(TOY, version=1, environ={VARIABLE: "::"}) is None


def test_installed_bundle_is_found_after_the_named_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    installed = make_bundle(packages / PACKAGE / "app", locked(commit=TWO))
    (packages / PACKAGE / "stray").mkdir()
    named = make_bundle(tmp_path / "named", locked())
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(packages)])
    assert find_bundled(TOY, environ={}) is None, "this process does not import from there"
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    found = find_bundled(TOY, environ={})
    assert found is not None
    assert found.is_relative_to(installed)
    found = find_bundled(TOY, environ={VARIABLE: str(named)})
    assert found is not None
    assert found.is_relative_to(named)


def test_variable_that_names_no_bundle_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"there is no bundle in '{tmp_path}'") as caught:
        parse_bundle_paths(f"{tmp_path}")
    assert str(caught.value).startswith("KERNELS_BUNDLE: ")
    assert parse_bundle_paths("") == ()


def test_damaged_list_is_named(tmp_path: Path) -> None:
    out = make_bundle(tmp_path / "bundle", locked())
    environ = {VARIABLE: str(out)}
    assert find_bundled(TOY, environ=environ)
    (out / FILE_NAME).write_bytes(b"\xff")
    with pytest.raises(BundleError, match="cannot be read"):
        find_bundled(TOY, environ=environ)


METADATA = f"kernels/acme--toy/{ONE}/build/torch-cpu/metadata.json"
EXTRA = f"kernels/acme--toy/{ONE}/build/torch-universal/__init__.py"


@pytest.mark.parametrize(
    ("path", "content", "finding"),
    [
        pytest.param(METADATA, b"{}", "File hash mismatch for metadata.json", id="metadata"),
        pytest.param(METADATA, None, "Missing file: metadata.json", id="missing"),
        pytest.param(EXTRA, b"import os", "Unknown build: torch-universal", id="planted-build"),
    ],
)
def test_changed_build_is_refused(
    tmp_path: Path, path: str, content: bytes | None, finding: str
) -> None:
    """K4: what the digest of a build cannot cover is covered by the bundle's list."""
    out = make_bundle(tmp_path / "bundle", locked())
    if content is None:
        (out / path).unlink()
    else:
        write_files(out, {path: content})
    with pytest.raises(DigestMismatch, match=finding):
        find_bundled(TOY, environ={VARIABLE: str(out)})


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        pytest.param("__init__.py", r"File hash mismatch for __init__\.py", id="changed"),
        pytest.param("planted.py", r"Unknown file: planted\.py", id="added"),
    ],
)
def test_build_without_a_digest_is_hashed_whole(tmp_path: Path, name: str, finding: str) -> None:
    builds = {"torch-cpu": kernel_files(has_digest=False)}
    out = make_bundle(tmp_path / "bundle", locked(), builds=builds)
    (folder,) = out.rglob("torch-cpu")
    write_files(folder, {"__pycache__/__init__.cpython-311.pyc": b"left by pip"})
    assert find_bundled(TOY, environ={VARIABLE: str(out)}) == folder.parent
    other = make_bundle(tmp_path / "other", locked(), builds=builds)
    write_files(next(other.rglob("torch-cpu")), {name: b"VALUE = 'evil'"})
    with pytest.raises(DigestMismatch, match=finding):
        find_bundled(TOY, environ={VARIABLE: str(other)})


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle that the environment of this process names."""
    out = make_bundle(tmp_path / "bundle", locked())
    monkeypatch.setenv(VARIABLE, str(out))
    return out


def test_every_way_in_finds_the_bundle_and_asks_no_hub(
    process_session: MemoryHub, named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files(value="hub")})
    kernel = api.get_kernel("acme/toy", version=1)
    assert kernel.VALUE == 1
    assert api.get_kernel("acme/toy", revision=ONE) is kernel
    assert api.has_kernel("acme/toy", version=1)
    lock = tmp_path / "kernels.lock"
    lock.write_text(
        lock_format.dumps(Lockfile(kernels=(locked(),))),
    )
    assert api.get_locked_kernel("acme/toy", lockfile=lock) is kernel
    assert process_session.calls == []
    monkeypatch.setattr(resolvers, "find_bundled", None)
    assert api.get_kernel("acme/toy", version=1) is kernel, "the same call is remembered"


def test_newest_of_the_bundle_is_meant_where_nothing_is_named(
    process_session: MemoryHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = make_bundle(tmp_path / "bundle", locked(1), locked(2, TWO))
    monkeypatch.setenv(VARIABLE, str(out))
    found = api.get_kernel("acme/toy").__file__
    assert found is not None
    assert TWO in found
    assert process_session.calls == []


def test_explain_names_the_bundle(
    process_session: MemoryHub, named: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process_session.publish("acme/toy", "v1", {"torch-cpu": kernel_files(value="hub")})
    main(["explain", "acme/toy", "--version", "1", "--json"])
    folder = named / f"kernels/acme--toy/{ONE}/build"
    assert json.loads(capsys.readouterr().out)["override"] == str(folder)


def test_override_comes_before_the_bundle_and_the_hub_after_it(
    process_session: MemoryHub, named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process_session.publish("acme/toy", "v2", {"torch-cpu": kernel_files(value="hub")})
    assert api.get_kernel("acme/toy", version=2).VALUE == "hub", "the bundle has version 1 alone"
    write_files(tmp_path / "mine/torch-cpu", kernel_files(value="mine"))
    monkeypatch.setenv("LOCAL_KERNELS", f"acme/toy={tmp_path / 'mine'}")
    assert api.get_kernel("acme/toy", version=1).VALUE == "mine"


def test_bundle_without_a_build_for_this_machine_says_so(
    process_session: MemoryHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = make_bundle(tmp_path / "bundle", locked(), builds={"torch-tpu": kernel_files()})
    monkeypatch.setenv(VARIABLE, str(out))
    with pytest.raises(NoVariant, match=r"torch-tpu: backend \(tpu\) does not match"):
        api.get_kernel("acme/toy", version=1)
    assert process_session.calls == []

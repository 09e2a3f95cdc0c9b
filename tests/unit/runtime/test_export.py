from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.utils import parse_wheel_filename
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, write_files

from kernelmill.runtime import export_folder, probe
from kernelmill.runtime.bundles import FILE_NAME
from kernelmill.runtime.bundles_format import parse as parse_bundle
from kernelmill.runtime.cli import main
from kernelmill.runtime.errors import BundleError, CacheUnusable
from kernelmill.runtime.export import (
    Contents,
    ExportedKernel,
    choose_for,
    ensure_closed,
    gather,
    hash_file,
    most_specific,
    read_builds,
)
from kernelmill.runtime.export_folder import write_folder
from kernelmill.runtime.export_targets import common_targets, select_targets
from kernelmill.runtime.export_wheel import name_wheel, required_packages, write_wheel
from kernelmill.runtime.hub import opening
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import DigestMismatch, NoVariant
from kernelmill.spec.lockfile import LockedKernel, Lockfile
from kernelmill.spec.names import RepoId
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.spec.host import Host

TOY = LockedKernel(repo_id=RepoId.parse("acme/toy"), version=1, commit="1" * 40)
CU128 = "torch213-cxx11-cu128-x86_64-linux"
CPU = "torch213-cxx11-cpu-x86_64-linux"
STABLE = "torch-stable-abi29-cu126-x86_64-linux"


@pytest.mark.parametrize(
    ("target", "names", "chosen"),
    [
        pytest.param(CU128, [CU128, STABLE], CU128, id="itself"),
        pytest.param(CU128, [STABLE, "torch-cuda"], STABLE, id="older-stable-abi"),
        pytest.param(CU128, ["torch-cuda", "torch-cpu"], "torch-cuda", id="pure-python"),
        pytest.param(CU128, [CPU, "torch-cpu"], None, id="other-backend"),
        pytest.param(CU128, ["tvm-ffi01-cu128-x86_64-linux"], None, id="other-framework"),
        pytest.param(STABLE, ["torch29-cxx11-cu126-x86_64-linux"], None, id="one-torch-only"),
        pytest.param(
            STABLE, ["torch-stable-abi210-cu126-x86_64-linux"], None, id="newer-stable-abi"
        ),
        pytest.param("torch-cuda", ["torch-universal", CU128], "torch-universal", id="anybody"),
        pytest.param("torch-cuda", [CU128, "torch-cpu"], None, id="noarch-is-not-compiled"),
        pytest.param("torch-universal", ["torch-cpu"], None, id="universal-is-for-all"),
    ],
)
def test_build_is_chosen_that_runs_wherever_the_target_does(
    target: str, names: list[str], chosen: str | None
) -> None:
    assert choose_for(parse_variant(target), names) == chosen
    assert choose_for(parse_variant(target), names[::-1]) == chosen


def test_bundle_is_called_after_the_build_that_asks_most() -> None:
    assert str(most_specific(["torch-universal", STABLE, CU128, "torch-cuda"])) == CU128
    assert str(most_specific(["torch-universal", "torch-cpu"])) == "torch-cpu"


def test_target_that_a_kernel_lacks_is_named() -> None:
    select = select_targets([parse_variant(CU128), parse_variant("torch-cpu")])
    assert select(TOY, ["torch-cuda", "torch-cpu"]) == ("torch-cpu", "torch-cuda")
    with pytest.raises(NoVariant, match=f"'acme/toy' has no build that runs where {CU128} does"):
        select(TOY, ["torch-cpu"])


def test_only_targets_of_the_whole_set_remain() -> None:
    other = replace(TOY, repo_id=RepoId.parse("acme/other"))
    targets, skipped = common_targets({TOY: [CPU, CU128], other: ["torch-cpu", "torch-tpu"]})
    assert list(map(str, targets)) == [CPU]
    assert skipped == {
        "torch-cpu": "'acme/toy' has no build that runs there",
        "torch-tpu": "'acme/toy' has no build that runs there",
        CU128: "'acme/other' has no build that runs there",
    }


@pytest.fixture
def kernels(tmp_path: Path) -> list[ExportedKernel]:
    """One kernel with one build, as it was fetched."""
    files = kernel_files(binaries={"_toy.so": b"machine code"})
    folder = write_files(tmp_path / "torch-cpu", files)
    write_files(folder, {"__pycache__/x.cpython-311.pyc": b"bytecode", "stray.pyc": b"bytecode"})
    return [read_builds(TOY, [folder])]


@pytest.fixture
def contents(kernels: list[ExportedKernel]) -> Contents:
    return gather(kernels, "[]")


def read_tree(folder: Path) -> dict[str, bytes]:
    files = (it for it in folder.rglob("*") if it.is_file())
    return {it.relative_to(folder).as_posix(): it.read_bytes() for it in files}


def test_folder_holds_the_builds_the_lock_and_every_hash(
    contents: Contents, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "bundle"
    write_folder(contents, out)
    files = read_tree(out)
    assert sorted(files) == [
        FILE_NAME,
        "kernels.lock",
        f"kernels/acme--toy/{TOY.commit}/build/torch-cpu/__init__.py",
        f"kernels/acme--toy/{TOY.commit}/build/torch-cpu/_toy.so",
        f"kernels/acme--toy/{TOY.commit}/build/torch-cpu/metadata.json",
    ]
    listed = parse_bundle(files[FILE_NAME].decode()).files
    assert listed == {name: hash_file(out / name) for name in files if name != FILE_NAME}
    assert [it.name for it in out.parent.iterdir()] == ["bundle"], "nothing else is left"
    assert out.stat().st_mode & 0o055 == 0o055, "others may read it"


def test_folder_is_replaced_only_when_told_and_only_a_bundle(
    contents: Contents, tmp_path: Path
) -> None:
    out = write_files(tmp_path / "bundle", {"mine.txt": b"precious"})
    for is_forced in (False, True):
        with pytest.raises(BundleError, match="holds other things than a bundle"):
            write_folder(contents, out, is_forced=is_forced)
    assert read_tree(out) == {"mine.txt": b"precious"}
    (out / "mine.txt").unlink()
    write_folder(contents, out)
    (out / "old").write_text("")
    with pytest.raises(BundleError, match="is there already\n  hint: replace it with --force"):
        write_folder(contents, out)
    write_folder(contents, out, is_forced=True)
    assert not (out / "old").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleError, match="is there already, and is no folder"):
        write_folder(contents, tmp_path / "file", is_forced=True)


def test_file_that_changes_meanwhile_leaves_nothing_behind(
    contents: Contents, tmp_path: Path
) -> None:
    next(iter(contents.sources.values())).write_text("VALUE = 'other'")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DigestMismatch, match="changed while it was copied: expected"):
        write_folder(contents, tmp_path / "bundle")
    name = name_wheel("app", "1", parse_variant("torch-cpu"), [], ["torch-cpu"])
    with pytest.raises(DigestMismatch, match="changed while it was copied: expected"):
        write_wheel(contents, name, tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def fail_second(rename: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
    """Return a ``rename`` that fails once, the second time."""
    calls = count(1)

    def fail(source: Path, target: Path) -> Path:
        if next(calls) == 2:
            raise OSError(28, "No space left on device")
        return rename(source, target)

    return fail


def test_full_disk_leaves_the_old_bundle(
    contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(contents, tmp_path / "bundle")
    before = read_tree(tmp_path / "bundle")

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "rename", fail_second(Path.rename))
        with pytest.raises(CacheUnusable, match="cannot be written: No space left on device"):
            write_folder(contents, tmp_path / "bundle", is_forced=True)
    assert read_tree(tmp_path / "bundle") == before
    monkeypatch.setattr(export_folder, "copy_checked", fail)
    with pytest.raises(CacheUnusable, match="cannot be written: No space left on device"):
        write_folder(contents, tmp_path / "bundle", is_forced=True)
    assert read_tree(tmp_path / "bundle") == before
    assert [it.name for it in tmp_path.iterdir() if it.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("target", "paths", "variants", "file_name"),
    [
        pytest.param(
            "torch-cpu",
            ["x.py"],
            ["torch-cpu"],
            "kernels_bundle_my_app-1.0+torch.cpu-py3-none-any.whl",
            id="pure",
        ),
        pytest.param(
            CU128,
            ["_x.abi3.so"],
            [CU128, "torch-cuda"],
            "kernels_bundle_my_app-1.0+torch213.cxx11.cu128-py3-none-linux_x86_64.whl",
            id="limited-api",
        ),
        pytest.param(
            "torch-stable-abi29-cpu-aarch64-linux",
            ["a/_x.cpython-313t-aarch64-linux-gnu.so"],
            ["torch-stable-abi29-cpu-aarch64-linux"],
            "kernels_bundle_my_app-1.0+torch.stable.abi29.cpu-cp313-cp313t-linux_aarch64.whl",
            id="one-python",
        ),
        pytest.param(
            "torch213-metal-aarch64-darwin",
            [],
            ["torch213-metal-aarch64-darwin"],
            "kernels_bundle_my_app-1.0+torch213.metal-py3-none-macosx_26_0_arm64.whl",
            id="metal",
        ),
    ],
)
def test_wheel_is_named_so_that_pip_takes_it(
    target: str, paths: list[str], variants: list[str], file_name: str
) -> None:
    name = name_wheel("My.App", "1.0", parse_variant(target), paths, variants)
    assert name.file_name == file_name
    distribution, version, _, tags = parse_wheel_filename(file_name)
    assert (distribution, str(version)) == (name.distribution, name.version)
    assert [str(it) for it in tags] == [name.tag]


@pytest.mark.parametrize(
    ("project", "release", "paths", "variants", "message"),
    [
        pytest.param("ä/b", "1", [], [], "'ä/b' cannot be part of a package's name", id="name"),
        pytest.param("x", "one", [], [], "'one' is not the version of a package", id="version"),
        pytest.param(
            "x",
            "1",
            ["_a.cpython-311-x86_64-linux-gnu.so", "_a.cpython-312-x86_64-linux-gnu.so"],
            [],
            "the builds are for several Pythons: cp311, cp312",
            id="pythons",
        ),
        pytest.param(
            "x",
            "1",
            [],
            [CPU, "torch213-cpu-aarch64-darwin"],
            "the builds are for several systems: linux_x86_64, macosx_11_0_arm64",
            id="systems",
        ),
    ],
)
def test_wheel_that_cannot_be_named_is_refused(
    project: str, release: str, paths: list[str], variants: list[str], message: str
) -> None:
    with pytest.raises(BundleError, match=message):
        name_wheel(project, release, parse_variant(CPU), paths, variants)


def test_wheel_has_the_same_bytes_each_time_and_an_honest_record(
    contents: Contents, tmp_path: Path
) -> None:
    name = name_wheel("app", "1", parse_variant("torch-cpu"), [], ["torch-cpu"])
    first = write_wheel(contents, name, tmp_path / "one", requires=["einops"])
    for source in contents.sources.values():
        source.touch()
    second = write_wheel(contents, name, tmp_path / "two", requires=["einops"])
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        infos = archive.infolist()
        record = archive.read("kernels_bundle_app-1+torch.cpu.dist-info/RECORD").decode()
        metadata = archive.read("kernels_bundle_app-1+torch.cpu.dist-info/METADATA").decode()
    assert {it.date_time for it in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {it.external_attr >> 16 for it in infos} == {0o100644}
    listed = [line.split(",")[0] for line in record.splitlines()]
    assert listed == [it.filename for it in infos]
    assert "Requires-Dist: einops\n" in metadata
    assert f"acme/toy at {TOY.commit}\n" in metadata
    with pytest.raises(BundleError, match="is there already"):
        write_wheel(contents, name, tmp_path / "one")


def test_python_packages_are_named_for_pip() -> None:
    assert required_packages(["einops", "tvm-ffi", "einops"]) == ("apache-tvm-ffi", "einops")


def test_kernel_that_is_not_locked_is_missed(kernels: list[ExportedKernel]) -> None:
    other = KernelDependency(repo_id=RepoId.parse("acme/other"), version=2)
    ((name, (folder, metadata)),) = kernels[0].builds.items()
    needy = replace(kernels[0], builds={name: (folder, replace(metadata, kernel_depends=(other,)))})
    message = r"torch-cpu of 'acme/toy' loads 'acme/other' \(version 2\), which is not locked"
    with pytest.raises(BundleError, match=message):
        ensure_closed([needy], Lockfile(kernels=(TOY,)))
    locked = replace(TOY, repo_id=other.repo_id, version=2)
    ensure_closed([needy], Lockfile(kernels=(TOY, locked)))


@pytest.fixture
def project(tmp_path: Path, hub: MemoryHub, host: Host, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A locked project, and the commands' Hub in memory."""
    monkeypatch.setattr(opening, "open_hub", lambda *_, **__: hub)
    monkeypatch.setattr(probe, "probe_host", lambda: host)
    commit = hub.publish("acme/toy", "v1", {"torch-cpu": kernel_files(), CU128: kernel_files()})
    entry = {"dependency": {"repo-id": "acme/toy", "version": 1}, "lock": {"commit": commit}}
    return write_files(tmp_path / "app", {"kernels.lock": json.dumps([entry]).encode()})


def test_export_command_writes_this_machines_build_by_default(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bundle"
    assert main(["export", str(project), "--dir", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["path"], document["files"]) == (1, str(out), 3)
    assert document["kernels"][0]["builds"] == ["torch-cpu"]
    assert main(["export", str(project), "--dir", str(out)]) == 2
    assert "replace it with --force" in capsys.readouterr().err
    arguments = ["--force", "--all-variants", "--json"]
    assert main(["export", str(project), "--dir", str(out), *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kernels"][0]["builds"] == ["torch-cpu", CU128]


def test_export_command_writes_a_wheel_per_build(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "wheels"
    lock = str(project / "kernels.lock")
    assert main(["export", lock, "--wheel", str(out), "--all-variants", "--json"]) == 0
    wheels = json.loads(capsys.readouterr().out)["wheels"]
    assert [(it["variant"], it["tag"]) for it in wheels] == [
        ("torch-cpu", "py3-none-any"),
        (CU128, "py3-none-linux_x86_64"),
    ]
    assert sorted(it.name for it in out.iterdir()) == sorted(
        it["path"].rpartition("/")[2] for it in wheels
    )
    named = ["--variant", CU128, "--name", "other", "--release", "2"]
    assert main(["export", lock, "--wheel", str(out), *named]) == 0
    printed = capsys.readouterr().out
    tag = "2+torch213.cxx11.cu128-py3-none-linux_x86_64"
    assert printed == f"{out}/kernels_bundle_other-{tag}.whl\n"


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        pytest.param("x", "'x' is not the name of a build variant", id="no-name"),
        pytest.param(
            "torch-tpu", "'acme/toy' has no build that runs where torch-tpu does", id="no-build"
        ),
    ],
)
def test_export_command_writes_nothing_when_a_build_is_missing(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], variant: str, message: str
) -> None:
    arguments = ["export", str(project), "--variant", variant]
    assert main([*arguments, "--dir", str(tmp_path / "out")]) in {1, 2}
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_export_command_needs_something_to_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["export", str(tmp_path), "--dir", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "No kernels.lock file found in: " in capsys.readouterr().err
    (tmp_path / "kernels.lock").write_text("[]")
    assert main(arguments) == 2
    assert "there is nothing to bundle: no kernel is locked" in capsys.readouterr().err

"""``kernel-builder update-build``, and what the other commands make of an old edition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.builder.fakes import MANIFEST, write_kernel

from kernelmill.builder.cli import main
from kernelmill.spec.manifest import LicenseHint, parse, read

ROOT = Path(__file__).parents[3]
OLD = """\
# Our kernel.
[general]
name = "my_relu"  # the Python name
universal = false

[torch]
src = ["torch-ext/torch_binding.cpp"]

# For AMD.
[kernel.relu]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = ["relu/relu.hip"]
"""
NEW = """\
# Our kernel.
[general]
name = "my-relu"  # the Python name
backends = ["rocm"]
version = 1
license = "Apache-2.0"
edition = 5

[torch]
src = ["torch-ext/torch_binding.cpp"]

# For AMD.
[kernel.relu]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = ["relu/relu.hip"]
"""


def write_old(folder: Path, text: str = OLD, *, has_license: bool = True) -> Path:
    write_kernel(folder, text)
    (folder / "torch-ext" / "torch_binding.cpp").touch()
    if has_license:
        (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    return folder


def test_manifest_is_rewritten_with_its_comments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_old(tmp_path)
    assert main(["update-build", str(root)]) == 0
    said = capsys.readouterr()
    assert said.out == "build.toml: edition 2 is now edition 5\n"
    assert said.err == (
        "assumed: version 1\n"
        "assumed: license Apache-2.0 (from LICENSE)\n"
        "assumed: the name 'my-relu' for 'my_relu': the Python name stays\n"
    )
    assert (root / "build.toml").read_text() == NEW
    assert sorted(it.name for it in root.glob(".*")) == []


def test_twin_of_a_kernel_has_an_empty_line_before_it(tmp_path: Path) -> None:
    old = OLD.replace('backend = "rocm"', 'language = "cuda-hipify"').replace(".hip", ".cu")
    old = old.replace("universal = false\n", "")
    root = write_old(tmp_path, old)
    (root / "relu" / "relu.cu").touch()
    assert main(["update-build", str(root)]) == 0
    assert '"relu/relu.cu"]\n\n[kernel.relu_rocm]\n' in (root / "build.toml").read_text()


def test_rewritten_manifest_needs_nothing_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_old(tmp_path, NEW)
    before = (root / "build.toml").stat()
    assert main(["update-build", str(root)]) == 0
    assert capsys.readouterr().out == "build.toml is of edition 5: nothing to do\n"
    assert (root / "build.toml").stat().st_mtime_ns == before.st_mtime_ns


def test_dry_run_prints_the_changes_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_old(tmp_path)
    assert main(["update-build", str(root), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert '-name = "my_relu"  # the Python name' in lines
    assert '+name = "my-relu"  # the Python name' in lines
    assert "+edition = 5" in lines
    assert (root / "build.toml").read_text() == OLD


def test_license_that_nobody_knows_has_to_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_old(tmp_path, has_license=False)
    (root / "LICENSE").write_text("All rights reserved.")
    assert main(["update-build", str(root)]) == 2
    assert capsys.readouterr().err == (
        "kernel-builder: build.toml:2 general: no license is named, and no LICENSE file here has a "
        "text that is known\n  hint: say which with --license Apache-2.0, as an SPDX expression\n"
    )
    assert (root / "build.toml").read_text() == OLD
    assert main(["update-build", str(root), "--license", "LicenseRef-ours"]) == 0
    assert 'license = "LicenseRef-ours"' in (root / "build.toml").read_text()


def test_given_license_is_doubted_when_it_is_not_spdx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_old(tmp_path)
    assert main(["update-build", str(root), "--license", "Apache 2"]) == 0
    assert "warning: 'Apache 2' is not an SPDX license expression; did you mean 'Apache-2.0'?" in (
        capsys.readouterr().err
    )


def test_line_ends_stay(tmp_path: Path) -> None:
    root = write_old(tmp_path, OLD)
    (root / "build.toml").write_bytes(OLD.replace("\n", "\r\n").encode())
    assert main(["update-build", str(root)]) == 0
    assert (root / "build.toml").read_bytes() == NEW.replace("\n", "\r\n").encode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('general.name = "relu"\ngeneral.universal = true\n', id="dotted"),
        pytest.param('general = { name = "relu", universal = true } # x\n', id="inline"),
        pytest.param('[general]\n"name" = "relu"\n\'universal\' = true\n', id="quoted"),
        pytest.param('[ general ]\nname="relu"\nuniversal=true', id="no-newline"),
        pytest.param(
            '[general]\nname = "relu"\nuniversal = true\ncuda-minver = "12.4"\n'
            "[torch]\npyext = []\n[general.hub]\nbranch = 'x'\n",
            id="in-pieces",
        ),
    ],
)
def test_unusual_layouts_are_rewritten_too(text: str, tmp_path: Path) -> None:
    root = write_old(tmp_path, text)
    hint = LicenseHint(expression="Apache-2.0", source="LICENSE")
    assert main(["update-build", str(root)]) == 0
    again = read((root / "build.toml").read_text())
    assert (again.edition, again.manifest) == (5, read(text, license_hint=hint).manifest)


def test_update_tells_its_edits_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write_old(tmp_path)
    assert main(["update-build", str(root), "--json", "--dry-run"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    assert (document["from_edition"], document["to_edition"]) == (2, 5)
    assert document["written"] is False
    assert document["edits"] == [
        "remove general.universal",
        'set general.backends to ["rocm"]',
        "set general.version to 1",
        'set general.license to "Apache-2.0"',
        'set general.name to "my-relu"',
        "set general.edition to 5",
    ]


def test_mistakes_of_an_old_manifest_are_told_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = OLD.replace("rocm-archs", "rocm-arch").replace("depends", "depend")
    root = write_old(tmp_path, text)
    assert main(["update-build", str(root)]) == 2
    errors = capsys.readouterr().err
    assert "build.toml:12 kernel.relu.rocm-arch: edition 2 has no key 'rocm-arch' here" in errors
    assert "build.toml:13 kernel.relu.depend: edition 2 has no key 'depend' here" in errors
    assert "build.toml:10 kernel.relu: missing key 'depends'" in errors
    assert (root / "build.toml").read_text() == text


def test_builder_reads_an_old_manifest_with_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    # M2
    root = write_old(tmp_path)
    for _ in range(2):
        assert main(["check-config", str(root)]) == 0
        assert capsys.readouterr().out == "my-relu version 1 for rocm: 3 files\n"
    assert [it.getMessage() for it in caplog.records] == [
        "build.toml is read as edition 2; assumed: version 1, license Apache-2.0 (from LICENSE), "
        "the name 'my-relu' for 'my_relu': the Python name stays; "
        "`kernel-builder update-build` writes edition 5"
    ]


def test_check_config_doubts_a_license_that_is_not_spdx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = MANIFEST.replace('license = "MIT"', 'license = "apache two"')
    root = write_kernel(tmp_path, manifest)
    assert main(["check-config", str(root)]) == 0
    assert "warning: build.toml:5 general.license: 'apache two' is not an SPDX" in (
        capsys.readouterr().err
    )
    assert main(["check-config", str(root), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["warnings"]) == 1


def test_layout_that_cannot_be_kept_is_written_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_old(tmp_path)
    monkeypatch.setattr("kernelmill.builder.rewriting.rewrite", lambda *_: None)
    assert main(["update-build", str(root)]) == 0
    assert "the layout of the file is too unusual to be kept: its comments are lost" in (
        capsys.readouterr().err
    )
    assert parse((root / "build.toml").read_text()) == parse(NEW)


def test_failed_write_leaves_the_old_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    root = write_old(tmp_path)
    monkeypatch.setattr(Path, "replace", full_disk)
    assert main(["update-build", str(root)]) == 3
    assert "cannot write build.toml: No space left on device" in capsys.readouterr().err
    assert (root / "build.toml").read_text() == OLD

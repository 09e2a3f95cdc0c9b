from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.fakes import FILES, MANIFEST, write_kernel

from kernelmill.builder.errors import SourceError
from kernelmill.builder.sources import compiled_table, read_tree, torch_table
from kernelmill.spec.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelmill.spec.manifest import Manifest


def test_read_tree_says_where_it_looked_when_there_is_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no build\.toml here") as caught:
        read_tree(tmp_path)
    assert caught.value.where == str(tmp_path)
    assert "kernel-builder init" in caught.value.hint


def test_read_tree_names_every_missing_file_with_its_line(tmp_path: Path) -> None:
    files = {path: text for path, text in FILES.items() if not path.startswith("relu/")}
    with pytest.raises(ManifestError) as caught:
        read_tree(write_kernel(tmp_path, files=files))
    assert [(fault.where, fault.problem) for fault in caught.value.faults] == [
        ("build.toml:14 kernel.relu_cpu.src[0]", "no such file 'relu/relu.cpp'"),
        ("build.toml:14 kernel.relu_cpu.src[1]", "no such file 'relu/relu.h'"),
        ("build.toml:20 kernel.relu_rocm.src[0]", "no such file 'relu/relu.hip'"),
        ("build.toml:20 kernel.relu_rocm.src[1]", "no such file 'relu/relu.h'"),
    ]


def test_read_tree_needs_a_python_module(tmp_path: Path) -> None:
    files = {path: text for path, text in FILES.items() if not path.endswith("__init__.py")}
    with pytest.raises(SourceError, match=r"no torch-ext/my_relu/__init__\.py"):
        read_tree(write_kernel(tmp_path, files=files))


def test_read_tree_takes_headers_of_include_folders_and_no_outputs(tmp_path: Path) -> None:
    manifest = MANIFEST.replace("[torch]\n", '[torch]\ninclude = ["."]\npyext = ["json"]\n')
    extra = {
        "common/util.h": "",
        "build/old/copy.h": "",
        ".kernelmill/x/copy.h": "",
        "torch-ext/registration.h": "",
        "torch-ext/my_relu/table.json": "{}",
        "torch-ext/my_relu/__pycache__/x.py": "",
        "notes.txt": "",
    }
    tree = read_tree(write_kernel(tmp_path, manifest, FILES | extra))
    assert set(tree.files) == {*FILES, "common/util.h", "torch-ext/my_relu/table.json"}


@pytest.mark.parametrize(
    ("table", "read"),
    [(torch_table, r"has no \[torch\] table"), (compiled_table, "is Python only")],
)
def test_table_of_another_framework_is_refused(
    tmp_path: Path, table: Callable[[Manifest], object], read: str
) -> None:
    manifest = (
        '[general]\nname = "my-relu"\nversion = 1\nedition = 5\nlicense = "MIT"\n'
        'backends = ["cpu"]\n\n[torch-noarch]\n'
    )
    tree = read_tree(write_kernel(tmp_path, manifest))
    assert tree.is_python_only
    with pytest.raises(SourceError, match=f"my-relu {read}"):
        table(tree.manifest)


def link_out(path: Path) -> None:
    outside = path.parents[3] / "outside.py"
    outside.write_text("SECRET = 1")
    path.symlink_to(outside)


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing.py")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (link_out, "is a link out of the repository"),
        (link_to_nothing, "is no file, or a link to none"),
        (link_to_itself, "is no file, or a link to none"),
        (os.mkfifo, "is no file, or a link to none"),
    ],
)
def test_read_tree_refuses_what_others_would_not_have(
    tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    root = write_kernel(tmp_path / "kernel")
    make(root / "torch-ext/my_relu/odd.py")
    with pytest.raises(SourceError, match=f"'torch-ext/my_relu/odd.py' {problem}"):
        read_tree(root)


def test_read_tree_says_so_when_the_manifest_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "build.toml").mkdir()
    with pytest.raises(SourceError, match=r"build\.toml cannot be read: Is a directory"):
        read_tree(tmp_path)

from __future__ import annotations

import importlib
import json
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.runtime.errors import KernelClash
from kernelmill.runtime.load import get_loaded_kernels, load_variant
from kernelmill.runtime.modules import FINDER
from kernelmill.spec.errors import DigestMismatch, MetadataError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SUBMODULE = {"extra.py": "NAME = 'extra'\n"}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return write_files(tmp_path / "build" / "torch-cpu", kernel_files(sources=SUBMODULE))


def load(folder: Path) -> ModuleType:
    return load_variant(folder, root=folder.parents[1])


def test_load_registers_the_module_under_its_id(build: Path) -> None:
    module = load(build)
    module_id = json.loads((build / "metadata.json").read_text())["id"]
    assert sys.modules[module_id] is module
    assert module.double(21) == 42
    assert [each.module for each in get_loaded_kernels()] == [module]


def test_load_gives_the_same_module_when_called_again(build: Path) -> None:
    assert load(build) is load(build)


def test_load_leaves_user_imports_alone_when_the_kernel_is_called_json(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "build" / "torch-cpu", kernel_files("json"))
    module = load(folder)
    assert module is not json
    assert importlib.import_module("json") is json


def test_load_leaves_user_imports_alone_when_the_module_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "site", {"later_toy.py": b"VALUE = 'real'\n"})
    monkeypatch.syspath_prepend(tmp_path / "site")
    kernel = load(write_files(tmp_path / "build" / "torch-cpu", kernel_files("later-toy")))
    real = importlib.import_module("later_toy")
    monkeypatch.delitem(sys.modules, "later_toy")
    assert (kernel.VALUE, real.VALUE) == (1, "real")


def test_load_takes_no_package_of_the_kernels_name_when_one_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoy = {"toy/__init__.py": b"raise SystemExit\n", "toy/extra.py": b"raise SystemExit\n"}
    monkeypatch.syspath_prepend(write_files(tmp_path / "site", decoy))
    sources = {**SUBMODULE, "__init__.py": "from .extra import NAME\nfrom . import extra\n"}
    folder = write_files(tmp_path / "build" / "torch-cpu", kernel_files(sources=sources))
    assert load(folder).NAME == "extra"
    assert "toy" not in sys.modules


def test_load_is_refused_when_the_id_is_an_importable_module(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "build" / "torch-cpu", kernel_files(module_id="this"))
    with pytest.raises(KernelClash, match="id is 'this', the name of a module that is not this"):
        load(folder)
    assert "this" not in sys.modules


def test_two_versions_work_side_by_side(tmp_path: Path) -> None:
    folders = [
        write_files(tmp_path / f"v{number}" / "torch-cpu", kernel_files(value=number))
        for number in (1, 2)
    ]
    assert [load(folder).VALUE for folder in folders] == [1, 2]


def test_load_reuses_the_module_when_the_same_build_lies_elsewhere(tmp_path: Path) -> None:
    first, second = (
        write_files(tmp_path / place / "torch-cpu", kernel_files()) for place in ("a", "b")
    )
    assert load(first) is load(second)
    assert len(get_loaded_kernels()) == 2


def test_load_is_refused_when_another_build_has_the_same_id(tmp_path: Path) -> None:
    first, second = (
        write_files(
            tmp_path / str(value) / "torch-cpu", kernel_files(value=value, module_id="_toy_cpu_x")
        )
        for value in (1, 2)
    )
    load(first)
    with pytest.raises(KernelClash, match="another build with the id '_toy_cpu_x' is loaded"):
        load(second)


def flip_byte(folder: Path) -> str:
    path = folder / "extra.py"
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    return "File hash mismatch for extra.py: expected: "


def flip_byte_of_library(folder: Path) -> str:
    path = folder / "data.so"
    path.write_bytes(b"\0" * 8)
    return "File hash mismatch for data.so: expected: "


def add_source(folder: Path) -> str:
    (folder / "planted.py").write_text("raise SystemExit\n")
    return "Unknown file: planted.py"


def add_library(folder: Path) -> str:
    (folder / "planted.abi3.so").write_bytes(b"\x7fELF")
    return "Unknown file: planted.abi3.so"


def add_lone_bytecode(folder: Path) -> str:
    (folder / "planted.pyc").write_bytes(b"")
    return "Unknown file: planted.pyc"


def add_source_beside_bytecode(folder: Path) -> str:
    write_files(folder / "__pycache__", {"planted.py": b""})
    return "Unknown file: __pycache__/planted.py"


def add_folder_of_bytecode(folder: Path) -> str:
    write_files(folder / "__pycache__" / "inner", {"planted.pyc": b""})
    return "Unknown file: __pycache__/inner/planted.pyc"


def remove_file(folder: Path) -> str:
    (folder / "extra.py").unlink()
    return "Missing file: extra.py"


def link_outside(folder: Path) -> str:
    path = folder / "extra.py"
    outside = folder.parents[2] / "outside.py"
    outside.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(outside)
    return "Link out of .*: extra.py -> .*outside.py"


def link_to_itself(folder: Path) -> str:
    (folder / "extra.py").unlink()
    (folder / "extra.py").symlink_to("extra.py")
    return "Link to nowhere: extra.py"


def link_folder(folder: Path) -> str:
    (folder / "linked").symlink_to(folder.parents[2], target_is_directory=True)
    return "Linked folder: linked"


@pytest.mark.parametrize(
    "tamper",
    [
        flip_byte,
        flip_byte_of_library,
        add_source,
        add_library,
        add_lone_bytecode,
        add_source_beside_bytecode,
        add_folder_of_bytecode,
        remove_file,
        link_outside,
        link_to_itself,
        link_folder,
    ],
)
def test_load_is_refused_before_anything_runs_when_files_were_tampered_with(
    tmp_path: Path, tamper: object
) -> None:
    marker = tmp_path / "ran"
    sources = {**SUBMODULE, "__init__.py": f"open({str(marker)!r}, 'w').close()\n", "data.so": "x"}
    folder = write_files(tmp_path / "repo/build/torch-cpu", kernel_files(sources=sources))
    assert callable(tamper)
    expected = tamper(folder)
    with pytest.raises(DigestMismatch, match=expected):
        load(folder)
    assert not marker.exists()
    assert get_loaded_kernels() == []


def test_planted_bytecode_is_not_executed(build: Path, tmp_path: Path) -> None:
    """Python itself would run this one: an unchecked hash says that it is never out of date."""
    import importlib.util

    evil = tmp_path / "evil.py"
    evil.write_text("VALUE = NAME = 'evil'\n")
    import py_compile

    for name in ("__init__", "extra"):
        py_compile.compile(
            str(evil),
            cfile=importlib.util.cache_from_source(str(build / f"{name}.py")),
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    module = load(build)
    extra = importlib.import_module(f"{module.__name__}.extra")
    assert (module.VALUE, extra.NAME) == (1, "extra")


def test_load_writes_no_bytecode(build: Path) -> None:
    before = sorted(build.rglob("*"))
    importlib.import_module(f"{load(build).__name__}.extra")
    assert sorted(build.rglob("*")) == before


def test_later_import_is_refused_when_the_file_changed_since_the_check(build: Path) -> None:
    module = load(build)
    (build / "extra.py").write_text("NAME = 'changed'\n")
    with pytest.raises(DigestMismatch, match=r"extra.py is not the file that the kernel was"):
        importlib.import_module(f"{module.__name__}.extra")


def test_later_import_is_refused_when_the_library_changed_since_the_check(tmp_path: Path) -> None:
    library = {"extra.abi3.so": b"not really one"}
    folder = write_files(tmp_path / "build" / "torch-cpu", kernel_files(binaries=library))
    module = load(folder)
    (folder / "extra.abi3.so").write_bytes(b"another")
    with pytest.raises(DigestMismatch, match=r"extra.abi3.so is not the file that the kernel was"):
        importlib.import_module(f"{module.__name__}.extra")


def test_import_of_an_unknown_submodule_fails_as_usual(build: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named '_toy_cpu_.*nothing'"):
        importlib.import_module(f"{load(build).__name__}.nothing")


def test_failed_import_leaves_nothing_behind(tmp_path: Path) -> None:
    sources = {**SUBMODULE, "__init__.py": "from . import extra\nraise RuntimeError('no luck')\n"}
    folder = write_files(tmp_path / "build" / "torch-cpu", kernel_files(sources=sources))
    before = set(sys.modules)
    with pytest.raises(RuntimeError, match="no luck") as caught:
        load(folder)
    assert caught.value.__notes__ == ["while importing kernel 'toy', variant 'torch-cpu'"]
    assert set(sys.modules) == before
    module_id = json.loads((folder / "metadata.json").read_text())["id"]
    assert FINDER.find_spec(f"{module_id}.extra", [str(folder)]) is None, "it finds nothing more"
    assert get_loaded_kernels() == []


def test_failed_import_can_be_tried_again(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    source = f"import os\nassert os.path.exists({str(flag)!r}), 'not yet'\n"
    folder = write_files(
        tmp_path / "build" / "torch-cpu", kernel_files(sources={"__init__.py": source})
    )
    with pytest.raises(AssertionError, match="not yet"):
        load(folder)
    flag.touch()
    assert load(folder).__name__.startswith("_toy_cpu_")


def test_threads_that_load_at_once_share_one_module(tmp_path: Path) -> None:
    count = tmp_path / "count"
    source = (
        "import time\n"
        f"with open({str(count)!r}, 'a') as file:\n    file.write('x')\n"
        "time.sleep(0.05)\nREADY = True\n"
    )
    folder = write_files(
        tmp_path / "build" / "torch-cpu", kernel_files(sources={"__init__.py": source})
    )
    modules: list[ModuleType] = []
    threads = [threading.Thread(target=lambda: modules.append(load(folder))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(modules) == 8
    assert all(module is modules[0] and module.READY for module in modules)
    assert count.read_text() == "x"


def test_old_build_loads_with_one_warning_when_it_has_no_digest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = kernel_files(has_digest=False)
    files["metadata.json"] = b'{"version": 1, "license": "MIT", "python-depends": [], "new": 1}'
    module = load(write_files(tmp_path / "build" / "torch-cpu", files))
    assert module.double(2) == 4
    assert module.__name__.startswith("_torch_cpu_cpu_")
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "has no digest: its files cannot be checked" in warnings[0]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(None, r"torch-cpu: there is no metadata.json", id="missing"),
        pytest.param(b"{", r"metadata.json: not valid JSON", id="not-json"),
        pytest.param(b"\xff", r"metadata.json: not UTF-8 text", id="not-text"),
        pytest.param(b" " * (16 * 1024 * 1024 + 1), r"metadata.json: larger than", id="huge"),
        pytest.param(b'{"id": "a", "id": "b"}', r"key 'id' is given twice", id="duplicate"),
        pytest.param(b'{"license": "\\ud800"}', r"license: holds half a surrogate", id="surrogate"),
        pytest.param(b'{"version": 1' + b"0" * 5000 + b"}", r"not valid JSON", id="huge-number"),
        pytest.param(b'{"version": "one"}', r"metadata.json.*version: .*'one'", id="wrong-type"),
    ],
)
def test_load_names_file_and_key_when_the_metadata_is_unusable(
    build: Path, content: bytes | None, problem: str
) -> None:
    (build / "metadata.json").unlink()
    if content is not None:
        (build / "metadata.json").write_bytes(content)
    with pytest.raises(MetadataError, match=problem):
        load(build)


def test_load_says_so_when_the_metadata_is_a_folder(build: Path) -> None:
    (build / "metadata.json").unlink()
    (build / "metadata.json").mkdir()
    with pytest.raises(MetadataError, match=r"metadata.json: cannot be read: Is a directory"):
        load(build)


def test_load_finds_the_module_in_a_folder_of_its_name(tmp_path: Path) -> None:
    files = kernel_files("my-toy")
    files["my_toy/__init__.py"] = files.pop("__init__.py")
    digestless = json.loads(files["metadata.json"])
    del digestless["digest"]
    files["metadata.json"] = json.dumps(digestless).encode()
    assert load(write_files(tmp_path / "build" / "torch-cpu", files)).double(3) == 6


def test_old_build_is_found_in_its_only_package(tmp_path: Path) -> None:
    files = kernel_files(has_digest=False)
    files["toy/__init__.py"] = files.pop("__init__.py")
    files["metadata.json"] = b'{"python-depends": []}'
    assert load(write_files(tmp_path / "build" / "torch-cpu", files)).double(3) == 6


@pytest.mark.parametrize("module_id", ["os.path", "my-kernel", "../x"])
def test_load_is_refused_when_the_id_cannot_be_a_module(build: Path, module_id: str) -> None:
    metadata = json.loads((build / "metadata.json").read_text())
    (build / "metadata.json").write_text(json.dumps({**metadata, "id": module_id}))
    with pytest.raises(MetadataError, match=r"metadata.json id: '.*' cannot be the name of a mod"):
        load(build)


def test_load_says_so_when_there_is_no_module(tmp_path: Path) -> None:
    files = kernel_files(has_digest=False)
    del files["__init__.py"]
    with pytest.raises(
        FileNotFoundError, match=r"No kernel module found at: `.*torch-cpu`\n  hint: "
    ):
        load(write_files(tmp_path / "build" / "torch-cpu", files))

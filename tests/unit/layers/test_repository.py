"""Repositories as values, and what each one asks of the functions that load kernels."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.layers.models import ONES, Scale
from tests.unit.runtime.kernel_files import kernel_files, write_files
from torch import nn

from kernelmill.runtime import api
from kernelmill.runtime.errors import NotTrusted
from kernelmill.runtime.layers import (
    FuncRepository,
    LayerRepository,
    LocalFuncRepository,
    LocalLayerRepository,
    LockedFuncRepository,
    LockedLayerRepository,
    Mode,
    explain,
    kernelize,
    use_kernel_mapping,
)
from kernelmill.runtime.locks import read_lockfile

if TYPE_CHECKING:
    from collections.abc import Callable

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LAYERS = """
from torch import nn

class FastScale(nn.Module):
    can_torch_compile = True

    def forward(self, x):
        return self.weight * x + 100
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A kernel in pure Python, with a layer and a function."""
    init = "from . import layers\n\ndef shift(x):\n    return x + 1000\n"
    files = kernel_files(version=4, sources={"__init__.py": init, "layers.py": LAYERS})
    return write_files(tmp_path / "kernel/build/torch-cpu", files).parents[1]


@pytest.fixture
def lockfile(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.lock"
    entry = {"dependency": {"repo-id": "acme/scale", "version": 1}, "lock": {"commit": COMMIT}}
    path.write_text(json.dumps([entry]))
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any, dict[str, Any]]]:
    """Record what the loading functions are asked, and answer with a kernel."""
    calls = list[tuple[str, Any, dict[str, Any]]]()
    kernel = ModuleType("_toy")
    vars(kernel).update(layers=SimpleNamespace(FastScale=nn.Identity), shift=lambda x: x)
    for name in ("get_kernel", "get_local_kernel", "get_locked_kernel"):

        def answer(what: object, _name: str = name, **arguments: object) -> ModuleType:
            calls.append((_name, what, arguments))
            return kernel

        monkeypatch.setattr(api, name, answer, raising=False)
    return calls


def test_layer_is_loaded_with_what_the_caller_said(
    asked: list[tuple[str, Any, dict[str, Any]]], lockfile: Path
) -> None:
    """S3: every way in goes through the same functions, with the caller's trust."""
    agent = {"framework": "test"}
    trust = ["acme/scale"]
    layer = LayerRepository(
        "acme/scale",
        layer_name="FastScale",
        version=1,
        trust_remote_code=trust,
        user_agent=agent,
    )
    trust.append("acme/added-later")
    assert layer.load() is nn.Identity
    LayerRepository("acme/scale", layer_name="FastScale", revision="main").load()
    LocalLayerRepository("kernel", layer_name="FastScale").load()
    LockedLayerRepository("acme/scale", lockfile=lockfile, layer_name="FastScale").load()
    FuncRepository("acme/scale", func_name="shift", version=2, trust_remote_code=True).load()
    LocalFuncRepository(Path("kernel"), func_name="shift").load()
    LockedFuncRepository(
        "acme/scale", lockfile=lockfile, func_name="shift", trust_remote_code=("a/b",)
    ).load()
    hub = {"revision": None, "trust_remote_code": False, "user_agent": None}
    locks = read_lockfile(lockfile)
    assert asked == [
        (
            "get_kernel",
            "acme/scale",
            hub | {"version": 1, "trust_remote_code": ("acme/scale",), "user_agent": agent},
        ),
        ("get_kernel", "acme/scale", hub | {"version": None, "revision": "main"}),
        ("get_local_kernel", Path("kernel"), {}),
        ("get_locked_kernel", "acme/scale", {"lockfile": locks, "trust_remote_code": False}),
        ("get_kernel", "acme/scale", hub | {"version": 2, "trust_remote_code": True}),
        ("get_local_kernel", Path("kernel"), {}),
        ("get_locked_kernel", "acme/scale", {"lockfile": locks, "trust_remote_code": ("a/b",)}),
    ]


def test_refused_trust_reaches_the_caller_from_every_repository(
    monkeypatch: pytest.MonkeyPatch, lockfile: Path
) -> None:
    """S3."""

    def refuse(*_: object, **__: object) -> None:
        raise NotTrusted("Kernel repository 'acme/scale' is not from a trusted publisher.")

    for name in ("get_kernel", "get_locked_kernel"):
        monkeypatch.setattr(api, name, refuse, raising=False)
    for repository in (
        LayerRepository("acme/scale", layer_name="X", version=1),
        LockedLayerRepository("acme/scale", lockfile=lockfile, layer_name="X"),
        FuncRepository("acme/scale", func_name="x", version=1),
        LockedFuncRepository("acme/scale", lockfile=lockfile, func_name="x"),
    ):
        with (
            use_kernel_mapping({"Scale": {"cpu": repository}}),
            pytest.raises(ValueError, match="is not from a trusted publisher"),
        ):
            kernelize(Scale(), mode=Mode.INFERENCE, policy="silent")


def test_repositories_are_values() -> None:
    def make(**changes: object) -> LayerRepository:
        arguments: dict[str, Any] = {"repo_id": "a/b", "layer_name": "X", "version": 1}
        return LayerRepository(**arguments | changes)

    assert make() == make(user_agent="other")
    assert hash(make(trust_remote_code=["a/b"])) == hash(make(trust_remote_code=["a/b"]))
    others = [
        make(repo_id="a/c"),
        make(layer_name="Y"),
        make(version=2),
        make(version=None, revision="v1"),
        make(trust_remote_code=True),
        make(trust_remote_code=["a/b"]),
        LocalLayerRepository("a/b", layer_name="X"),
        FuncRepository("a/b", func_name="X", version=1),
        "a/b",
    ]
    assert all(make() != other for other in others)
    assert len({make(), make(), *others}) == len(others) + 1
    assert pickle.loads(pickle.dumps(make())) == make()


def test_private_names_that_programs_read_are_there() -> None:
    repository = LayerRepository("a/b", layer_name="X", version=1, trust_remote_code=["a/b"])
    assert (repository._repo_id, repository._version, repository._revision) == ("a/b", 1, None)
    assert repository._trust_remote_code == ("a/b",)
    assert repository.layer_name == "X"
    assert FuncRepository("a/b", func_name="x", revision="main").func_name == "x"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda _: LayerRepository("a/b", layer_name="X", version=1),
            "`a/b` (revision: v1), layer `X`",
        ),
        (
            lambda _: LayerRepository("a/b", layer_name="X", revision="main"),
            "`a/b` (revision: main), layer `X`",
        ),
        (lambda _: LocalLayerRepository(Path("k"), layer_name="X"), "`k` (layer `X`)"),
        (
            lambda lock: LockedLayerRepository("acme/scale", lockfile=lock, layer_name="X"),
            f"`acme/scale` (revision: {COMMIT}), layer `X`",
        ),
        (
            lambda _: LockedLayerRepository("a/b", lockfile=Path("none"), layer_name="X"),
            "`a/b` (locked), layer `X`",
        ),
        (
            lambda _: FuncRepository("a/b", func_name="x", revision="main"),
            "`a/b` (revision: main), function `x`",
        ),
        (lambda _: LocalFuncRepository(Path("k"), func_name="x"), "`k` (function `x`)"),
    ],
)
def test_text_names_the_kernel_and_asks_nobody(
    make: Callable[[Path], object], text: str, lockfile: Path
) -> None:
    assert str(make(lockfile)) == text


@pytest.mark.parametrize("kind", ["", "Local", "Locked"])
def test_function_repositories_say_that_they_are_old(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    classes: dict[str, Any] = {
        "": FuncRepository,
        "Local": LocalFuncRepository,
        "Locked": LockedFuncRepository,
    }
    classes[kind]("a/b", func_name="x")
    assert caplog.messages == [
        f"{kind}FuncRepository is deprecated and will be removed in kernels 0.17. "
        f"Use {kind}LayerRepository instead."
    ]
    assert caplog.records[0].pathname == __file__


def test_locked_repository_reads_its_lock_when_it_is_asked(lockfile: Path) -> None:
    """Y13: making one reads nothing."""
    repository = LockedLayerRepository("acme/scale", lockfile=lockfile, layer_name="X")
    assert repository.kernel_dep.commit == COMMIT
    assert len(repository.kernel_locks.kernels) == 1
    other = LockedLayerRepository("acme/other", lockfile=lockfile, layer_name="X")
    with pytest.raises(ValueError, match="'acme/other' is not locked"):
        _ = other.kernel_dep
    nowhere = LockedLayerRepository("acme/scale", layer_name="X")
    with pytest.raises(ValueError, match=r"Could not find a `kernels\.lock` file in the caller's"):
        nowhere.load()


def test_lock_file_of_the_package_that_made_the_repository_is_found(
    tmp_path: Path,
    lockfile: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[tuple[str, Any, dict[str, Any]]],
) -> None:
    info = tmp_path / "site/dealer-1.0.dist-info"
    source = (
        "from kernelmill.runtime.layers import LockedLayerRepository\n"
        "LAYER = LockedLayerRepository('acme/scale', layer_name='FastScale')\n"
    )
    files = {
        "METADATA": "Metadata-Version: 2.1\nName: dealer\nVersion: 1.0\n",
        "RECORD": "dealer.py,,\ndealer-1.0.dist-info/kernels.lock,,\n",
        "kernels.lock": lockfile.read_text(),
        "../dealer.py": source,
    }
    write_files(info, {name: text.encode() for name, text in files.items()})
    monkeypatch.syspath_prepend(str(info.parent))
    import dealer  # type: ignore[import-not-found]

    dealer.LAYER.load()
    assert asked[0][2]["lockfile"] == read_lockfile(lockfile)


def test_layer_of_a_folder_runs(folder: Path) -> None:
    layer = Scale()
    with use_kernel_mapping(
        {"Scale": {"cpu": LocalLayerRepository(folder, layer_name="FastScale")}}
    ):
        kernelize(layer, mode=Mode.INFERENCE | Mode.TORCH_COMPILE, use_fallback=False)
    assert layer(ONES).tolist() == [103, 103]
    origin = explain(layer).layers[0].origin
    assert origin is not None
    assert (origin.version, origin.variant, origin.layer) == (4, "torch-cpu", "FastScale")
    assert (origin.repo_id, origin.revision) == (None, None)


def test_function_of_a_folder_runs(folder: Path) -> None:
    layer = LocalFuncRepository(folder, func_name="shift").load()
    assert layer()(ONES).tolist() == [1001, 1001]


@pytest.mark.parametrize(
    ("repository", "message"),
    [
        (
            lambda folder: LocalLayerRepository(folder, layer_name="Slow"),
            r"Layer `Slow` not found in kernel repo `.*kernel` \(layer `Slow`\)\.",
        ),
        (
            lambda folder: LocalFuncRepository(folder, func_name="slow"),
            r"Function `slow` not found in `",
        ),
    ],
)
def test_missing_part_is_named(
    repository: Callable[[Path], LocalLayerRepository], message: str, folder: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        repository(folder).load()


def test_kernel_without_layers_is_named(tmp_path: Path) -> None:
    write_files(tmp_path / "build/torch-cpu", kernel_files())
    with pytest.raises(ValueError, match=r"Kernel repo .* does not define any layers\."):
        LocalLayerRepository(tmp_path, layer_name="X").load()

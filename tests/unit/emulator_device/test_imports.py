"""Acting just before a module is imported."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING

import pytest

from kernelmill.emulator.device.activate import activate
from kernelmill.emulator.device.errors import DeviceError
from kernelmill.emulator.device.imports import ImportHook
from kernelmill.emulator.device.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from pathlib import Path

NAME = "a_module_that_only_this_test_has"


@pytest.fixture
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / f"{NAME}.py").write_text("import sys\nseen = list(sys.order)\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "order", [], raising=False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield
    sys.modules.pop(NAME, None)


@pytest.mark.usefixtures("_module")
def test_action_comes_first_when_the_module_is_imported(tmp_path: Path) -> None:
    def act(spec: ModuleSpec) -> None:
        sys.__dict__["order"].append(spec.origin)

    ImportHook({NAME: act}).install()
    assert importlib.util.find_spec(NAME) is not None
    assert not sys.__dict__["order"]
    module = importlib.import_module(NAME)
    assert module.seen == [str(tmp_path / f"{NAME}.py")]
    assert importlib.import_module(NAME) is module
    assert len(sys.__dict__["order"]) == 1


@pytest.mark.usefixtures("_module")
def test_import_fails_with_the_actions_error_when_it_raises() -> None:
    def act(spec: ModuleSpec) -> None:
        raise DeviceError("no device")

    ImportHook({NAME: act}).install()
    with pytest.raises(ImportError, match="no device"):
        importlib.import_module(NAME)
    assert NAME not in sys.modules


def test_unknown_module_stays_unknown_when_hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    ImportHook({"no_such_module_at_all": lambda _spec: None}).install()
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module_at_all'"):
        importlib.import_module("no_such_module_at_all")


def test_device_is_refused_when_torch_is_imported_already(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", sys)
    before = list(sys.meta_path)
    with pytest.raises(DeviceError, match="torch is imported already") as caught:
        activate(read_settings({"KERNELMILL_EMULATOR_CACHE": str(tmp_path)}))
    assert caught.value.hint.startswith("start with kernel-emulator run -- COMMAND")
    assert sys.meta_path == before
    assert not list(tmp_path.iterdir())

"""A process that is forked while one of its threads loads: the child loads all the same."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Final

import pytest
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.runtime import file_lock, load
from kernelmill.runtime.file_lock import locked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SLOW: Final = """
import threading
STARTED, GO = threading.Event(), threading.Event()
import __main__
__main__.slow_kernel = (STARTED, GO)
STARTED.set()
if not getattr(__main__, "is_child", False):
    GO.wait(20)
VALUE = 1
"""


def in_child(question: Callable[[], object], *, within_s: int = 20) -> bool:
    """Tell whether ``question`` is answered by yes in a forked child, in time."""
    child = os.fork()
    if not child:
        signal.alarm(within_s)
        try:
            os._exit(0 if question() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def test_child_loads_what_a_thread_of_its_parent_was_loading(tmp_path: Path) -> None:
    import __main__

    folder = tmp_path / "torch-universal"
    write_files(folder, kernel_files(sources={"__init__.py": SLOW}, module_id="_toy_forked"))
    found: list[int] = []
    thread = threading.Thread(
        target=lambda: found.append(load.load_variant(folder, root=folder).VALUE)
    )
    thread.start()
    while not hasattr(__main__, "slow_kernel"):
        assert thread.is_alive()
    started, go = __main__.slow_kernel
    assert started.wait(20)

    def load_again() -> bool:
        __main__.is_child = True
        return bool(load.load_variant(folder, root=folder).VALUE == 1)

    is_loaded = in_child(load_again)
    go.set()
    thread.join()
    del __main__.slow_kernel
    assert is_loaded
    assert found == [1]


def test_child_can_load_while_another_thread_looks_for_a_lock(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "torch-universal", kernel_files(module_id="_toy_forked_2"))
    with load._locks_guard:
        assert in_child(lambda: load.load_variant(folder, root=folder).VALUE == 1)


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_child_keeps_none_of_its_parents_file_locks(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    reader, writer = os.pipe()
    with locked(path):
        held = set(file_lock._held)
        child = os.fork()
        if not child:
            os.read(reader, 1)  # lives on, as a worker does
            os._exit(1 if any(map(is_open, held)) else 0)
    with locked(path, timeout_s=0):
        pass
    os.write(writer, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(reader)
    os.close(writer)


def test_file_lock_is_waited_for_no_longer_than_asked(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "lock"),
        pytest.raises(TimeoutError, match="is locked by somebody else"),
        locked(tmp_path / "lock", timeout_s=0.1),
    ):
        pass
    with locked(tmp_path / "lock", timeout_s=0):
        assert (tmp_path / "lock").exists()

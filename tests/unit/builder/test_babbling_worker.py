"""A worker whose Python prints something before the worker can redirect its output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.builder.test_runners import JOBS

from kernelmill.builder.runners import WorkerDied, child

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("text", ["hello from sitecustomize", "Loading plug-ins", "GPU 0: none"])
def test_worker_that_babbles_is_ended_and_not_waited_for(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "babbling_worker.py").write_text(
        f"import sys, time\nprint({text!r}, flush=True)\ntime.sleep(600)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(child, "_MODULE", "babbling_worker")
    worker = child.Child(child.Order(job=JOBS[0], is_verbose=False))
    with pytest.raises(WorkerDied, match="worker says what nobody understands: ") as caught:
        worker.run(lambda _: None)
    assert "sitecustomize" in caught.value.hint
    assert worker._process.returncode is not None

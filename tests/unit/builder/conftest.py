from __future__ import annotations

import pytest

from kernelmill.builder.memo import VARIABLE, open_memo


@pytest.fixture(autouse=True)
def no_memo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what made-up programs say out of the user's cache."""
    monkeypatch.setenv(VARIABLE, "")
    open_memo.cache_clear()

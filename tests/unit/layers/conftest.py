from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.layers.models import shift
from tests.unit.runtime.kernel_files import unload_kernels

from kernelmill.runtime.layers import mapping

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def clean_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start each test with an empty mapping and no switches."""
    for name in ("DISABLE_KERNEL_MAPPING", "KERNELS_POLICY", "LOCAL_KERNELS", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(mapping._process, "table", mapping.Table())
    yield
    for member in ("forward", "_kernel_decision"):
        shift.__dict__.pop(member, None)
    unload_kernels()

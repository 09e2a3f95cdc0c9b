"""An allowlist may be anything that can be read, also what can be read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files
from tests.unit.runtime.test_tree import need, publish, user_of

from kernelmill.runtime import api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.mark.parametrize(
    "call", [api.get_kernel, api.has_kernel, api.install_kernel, api.install_kernel_all_variants]
)
def test_iterator_allows_a_kernel_and_what_it_depends_on(
    call: Callable[..., object], process_session: MemoryHub
) -> None:
    publish(process_session, "acme/low", kernel_files())
    publish(process_session, "acme/top", user_of(need("acme/low")))
    process_session.trusted.clear()
    allowed: Iterator[str] = iter(["acme/top", "acme/low"])
    assert call("acme/top", version=1, trust_remote_code=allowed)

from __future__ import annotations

import pytest

from kernelmill.builder.wording import count_of


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1024, "1,024 jobs")]
)
def test_count_of_agrees_with_its_number(number: int, text: str) -> None:
    assert count_of(number, "job") == text

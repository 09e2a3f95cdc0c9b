"""What the emulator claims to know is what LLVM prints for gfx942, and it can bind all of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelmill.emulator.catalogue import is_emulated, read_instructions, read_names
from kernelmill.emulator.instructions.control import NO_EFFECT, bind_end
from kernelmill.emulator.instructions.table import BINDERS, bind
from kernelmill.emulator.instructions_page import main, render_page
from kernelmill.emulator.program import Layout, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.binary.disassembly import Instruction

LAYOUT = Layout(accumulators=128, vectors=256, image=0)
PAGE = Path(__file__).parents[2] / "docs" / "emulator-instructions.md"


@pytest.fixture(scope="module")
def examples() -> Mapping[str, Instruction]:
    return read_instructions()


def test_every_form_that_llvm_prints_can_be_bound(examples: Mapping[str, Instruction]) -> None:
    assert len(examples) > 1600
    for example in examples.values():
        decoded = decode(example)
        if is_emulated(decoded.name):
            bound = bind_end(decoded) or bind(decoded, LAYOUT)
            assert bound or decoded.name in NO_EFFECT, decoded


def test_no_instruction_is_claimed_that_gfx942_does_not_have() -> None:
    assert sorted(set(BINDERS) - set(read_names())) == []


def test_nine_of_ten_instructions_are_emulated_and_all_that_compute() -> None:
    names = read_names()
    missing = [name for name in names if not is_emulated(name)]
    assert len(missing) < len(names) / 10
    assert [name for name in missing if name.startswith(("v_", "ds_", "global_", "flat_"))] == [
        "v_screen_partition_4se_b32"
    ]


def test_page_is_written_whole_and_is_current(tmp_path: Path) -> None:
    assert main([str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text("utf-8") == render_page(read_names())
    assert (tmp_path / "page.md").read_text("utf-8") == PAGE.read_text("utf-8"), "run make gen"

"""What a hint says to do can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelmill.builder.cli import lock
from kernelmill.builder.cli.earlier import find_earlier
from kernelmill.builder.cli.testshell import choose_variant
from kernelmill.builder.errors import SourceError
from kernelmill.builder.locking.errors import BuildLockError
from kernelmill.builder.locking.format import Lock
from kernelmill.builder.locking.making import make_lock
from kernelmill.spec.variant import parse_variant

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.spec.variant import Variant

ROCM = parse_variant("torch213-cxx11-rocm71-x86_64-linux")
CUDA_12 = parse_variant("torch212-cxx11-cu126-x86_64-linux")


@pytest.mark.parametrize(
    ("variants", "hint"),
    [
        (
            [ROCM, CUDA_12],
            "kernel-builder sdk fetch abi-stubs-2.28 cxx-12.2.0 tools-1 torch-2.13.0 zig-0.17.1; "
            "or fewer, with --variant",
        ),
        ([CUDA_12], ""),
    ],
)
def test_a_lock_asks_only_for_sdks_that_a_recipe_makes(variants: list[Variant], hint: str) -> None:
    with pytest.raises(BuildLockError, match="nothing can be locked") as caught:
        lock._require((), make_lock(variants, (), Lock()), variants)
    assert caught.value.hint == hint


def test_a_shell_that_emulates_says_that_there_is_nothing_to_emulate() -> None:
    built = ["torch-stable-abi29-cpu-x86_64-linux", "torch-stable-abi29-cu130-x86_64-linux"]
    with pytest.raises(SourceError, match="no build for rocm to emulate: there is ") as caught:
        choose_variant(built, asked=None, is_emulated=True)
    assert caught.value.hint.startswith("run `kernel-builder build --backend rocm` first")
    assert choose_variant([*built, str(ROCM)], asked=None, is_emulated=True) == str(ROCM)


def test_an_earlier_build_on_a_hub_is_named_with_its_version(tmp_path: Path) -> None:
    assert find_earlier(str(tmp_path)) == tmp_path
    with pytest.raises(SourceError, match="acme/relu: there is no such folder") as caught:
        find_earlier("acme/relu")
    assert caught.value.hint.endswith("or one on a Hub as OWNER/NAME@v1")

from __future__ import annotations

import pytest

from kernelmill.binary import disassembly
from kernelmill.binary.code_object import read_code_objects
from kernelmill.binary.errors import BinaryError, DisassemblerError


def test_matrix_instructions_are_counted_when_kernel_has_some(code_object: bytes) -> None:
    (found,) = read_code_objects(code_object)
    assert disassembly.count_matrix_instructions(found) == {
        "fp8_tile": {"v_mfma_f32_16x16x32_fp8_fp8": 1},
        "scratch": {},
    }


def test_instructions_have_addresses_when_kernel_is_disassembled(code_object: bytes) -> None:
    (found,) = read_code_objects(code_object)
    kernel = found.kernels[0]
    instructions = list(disassembly.disassemble_kernel(found, kernel))
    assert instructions[0].address == kernel.code_address
    assert sum(item.size_bytes for item in instructions) == kernel.code_size
    assert "s_barrier" in [item.mnemonic for item in instructions]
    assert str(instructions[-1]) == "s_endpgm"


@pytest.mark.parametrize(
    ("code", "target", "text"),
    [
        pytest.param("000081bf", "gfx942", "s_endpgm", id="sopp"),
        pytest.param(
            "0000d3d30005120c", "gfx950", "v_smfmac_f32_32x32x64_fp8_fp8", id="gfx950-only"
        ),
        pytest.param("01000404", "gfx90a:sramecc+:xnack-", "v_sub_f32_e32", id="features"),
    ],
)
def test_text_is_llvms_when_code_is_given(code: str, target: str, text: str) -> None:
    first = next(disassembly.disassemble(bytes.fromhex(code), target=target))
    assert text in str(first)


def test_disassembly_refuses_when_bytes_are_no_instruction() -> None:
    with pytest.raises(BinaryError, match="no instruction at 0x1004: ffffffffffffffff"):
        list(
            disassembly.disassemble(
                bytes.fromhex("00000000") + b"\xff" * 8, target="gfx942", address=0x1000
            )
        )


def test_finding_says_what_to_install_when_wheel_is_missing() -> None:
    with pytest.raises(DisassemblerError) as caught:
        disassembly.find_library("kernelmill-no-such-wheel")
    assert str(caught.value) == (
        "the wheel 'kernelmill-no-such-wheel', which holds LLVM's disassembler, is not installed\n"
        '  hint: pip install ".[builder]" in a clone of kernelmill'
    )


def test_finding_says_so_when_wheel_has_no_library() -> None:
    with pytest.raises(DisassemblerError, match=r"the wheel 'pytest' has no librocmllvm\.so"):
        disassembly.find_library("pytest")

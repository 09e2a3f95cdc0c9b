"""What was counted, on its way to people and to other programs."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from kernelmill.binary.code_object import parse
from kernelmill.emulator.cli.run import check_options, configure, report_profile
from kernelmill.emulator.device.errors import CommandError
from kernelmill.emulator.device.launcher import render_profile
from kernelmill.emulator.hip_runtime.session import Session
from kernelmill.emulator.launch import Dispatch
from kernelmill.emulator.profile import add_up
from kernelmill.emulator.profile_table import MOST_ROWS, render_profiles

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.emulator.memory import Memory


def memory(address: int = 0x100, **changes: object) -> dict[str, object]:
    return {
        "address": address, "instruction": "global_load_dword v0, v[0:1], off", "access": "read",
        "source": "sum.hip:7", "accesses": 2, "bytes_requested": 512, "bytes_moved": 2048,
    } | changes  # fmt: skip


def lds(address: int = 0x200, **changes: object) -> dict[str, object]:
    return {
        "address": address, "instruction": "ds_read_b32 v0, v1", "access": "read", "source": "",
        "accesses": 2, "bytes_requested": 512, "cycles": 64, "conflict_cycles": 60,
    } | changes  # fmt: skip


def launch(*, kernel: str = "sum", code: str = "c0de", **changes: object) -> dict[str, Any]:
    resources = {
        "code": code, "vgprs": 100, "agprs": 0, "sgprs": 20, "lds_bytes": 0, "private_bytes": 0,
        "workgroup_size": 256,
    }  # fmt: skip
    profile = {
        "mnemonics": {"v_add_f32": 4, "v_mfma_f32_16x16x32_fp8_fp8": 2, "s_endpgm": 1},
        "resources": resources, "memory": [memory()], "lds": [lds()],
    }  # fmt: skip
    return {"kernel": kernel, "profile": profile | changes}


def test_counters_are_added_up_when_a_kernel_is_launched_again() -> None:
    (found,) = add_up([launch(), launch(memory=[memory(0x80), memory()])])
    assert (found.kernel, found.launches, found.instructions) == ("sum", 2, 14)
    assert [(it.address, it.accesses, it.bytes_moved) for it in found.memory] == [
        (0x80, 2, 2048),
        (0x100, 4, 4096),
    ]
    assert [(it.cycles, it.conflict_cycles) for it in found.lds] == [(128, 120)]
    assert found.operations.matrix_flops == 4 * 2 * 16 * 16 * 32
    assert found.operations.vector_flops == 8 * 64
    assert found.flops_per_byte == (65536 + 512) / 6144


def test_kernels_are_kept_apart_when_only_their_code_differs() -> None:
    found = add_up([launch(code="b"), launch(code="a"), launch(kernel="max"), {"kernel": "old"}])
    assert [(it.kernel, it.code) for it in found] == [("max", "c0de"), ("sum", "a"), ("sum", "b")]


def test_failed_launches_are_left_out_when_added_up() -> None:
    assert add_up([{"kernel": "sum", "profile": None}]) == ()


def test_table_says_emulated_and_modelled_when_rendered() -> None:
    text = render_profiles(add_up([launch(), launch()]))
    assert text.splitlines() == [
        "profile (emulated gfx942; bytes moved, LDS cycles and occupancy are modelled)",
        "",
        "sum: 2 launches",
        "  instructions   14 by waves: Vector arithmetic and moves 8, Matrix 4, Branches 2",
        "  FLOPs issued   65,536 by matrix instructions, 512 by vector ones",
        "  global memory  1,024 bytes requested, 4,096 moved; 16.12 FLOPs per byte moved",
        "  LDS            128 cycles, 120 of them bank conflicts",
        "  occupancy      4 waves per SIMD, 4 workgroups per CU, limited by VGPR (100 VGPRs, 0"
        " AGPRs, 20 SGPRs, 0 bytes of LDS, 256 work-items)",
        "",
        "    global memory                            source line  requested  moved  ratio",
        "    0x100 global_load_dword v0, v[0:1], off  sum.hip:7        1,024  4,096    25%",
        "",
        "    LDS                       source line  requested  cycles  conflicts",
        "    0x200 ds_read_b32 v0, v1  -                1,024     128        120",
    ]


def test_table_is_cut_when_a_kernel_has_many_instructions() -> None:
    rows = [memory(place, bytes_moved=place) for place in range(1, MOST_ROWS + 4)]
    text = render_profiles(add_up([launch(memory=rows)]))
    assert "    and 3 more" in text
    assert "0xf global_load_dword" in text
    assert "0x1 global_load_dword" not in text, "the costliest are shown"


def test_table_says_so_when_no_launch_ended() -> None:
    assert render_profiles(()).endswith("are modelled): no launch ran to its end")


def test_json_has_no_time_when_rendered() -> None:
    text = render_profile([launch()])
    document = json.loads(text)
    assert (document["version"], document["source"], document["device"]) == (
        1, "emulated", "gfx942",
    )  # fmt: skip
    (kernel,) = document["kernels"]
    assert kernel["flops_issued"] == {"matrix": 32768, "vector": 256}
    assert kernel["families"] == {"Vector arithmetic and moves": 4, "Matrix": 2, "Branches": 1}
    assert kernel["memory"][0]["coalescing_modelled"] == 0.25
    assert kernel["lds"][0]["conflict_cycles_modelled"] == 60
    (occupancy,) = kernel["occupancy_modelled"]
    assert (occupancy["waves_per_simd"], occupancy["limited_by"]) == (4, "VGPR")
    assert "second" not in text
    assert "time" not in text


def test_profile_is_printed_or_written_when_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report_profile([launch()], "", is_json=False)
    assert "sum: 1 launch\n" in capsys.readouterr().err
    report_profile([launch()], str(tmp_path / "p.json"), is_json=True)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (render_profile([launch()]), "")
    assert (tmp_path / "p.json").read_text("utf-8") == printed.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--json", "--", "a"], "only a profile is printed as JSON", id="json-alone"),
        pytest.param(
            ["--profile", "python", "a.py"],
            "--profile=python is not followed by --",
            id="no-dashes",
        ),
        pytest.param(
            ["--max-instructions", "0", "--", "a"], "must be 1 or more", id="no-instructions"
        ),
    ],
)
def test_options_are_refused_when_they_make_no_sense(words: list[str], message: str) -> None:
    parser = ArgumentParser()
    configure(parser)
    with pytest.raises(CommandError, match=message):
        check_options(parser.parse_args(words))


@pytest.mark.parametrize(
    ("words", "profile"),
    [
        (["--", "a"], None),
        (["--profile", "--", "a"], ""),
        (["--profile=p.json", "--json", "--", "a"], "p.json"),
    ],
)
def test_file_of_a_profile_is_optional_when_parsed(words: list[str], profile: str | None) -> None:
    parser = ArgumentParser()
    configure(parser)
    args = parser.parse_args(words)
    check_options(args)
    assert (args.profile, args.command) == (profile, ["--", "a"])


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedReport:
    instructions: int
    profile: dict[str, object] | None
    findings: tuple[str, ...] = ()


def execute(dispatch: Dispatch, memory: Memory, *, sanitize: bool, profile: bool) -> CountedReport:
    del dispatch, memory, sanitize
    return CountedReport(instructions=3, profile={"mnemonics": {}} if profile else None)


@pytest.mark.parametrize("profile", [False, True])
def test_profile_is_written_down_when_a_launch_is_logged(
    tmp_path: Path, code: bytes, *, profile: bool
) -> None:
    dispatch = Dispatch(code_object=parse(code), kernel="sum", grid=(1, 1, 1), block=(64, 1, 1))
    Session(execute=execute, profile=profile, log_folder=tmp_path).launch(dispatch)
    (file,) = tmp_path.iterdir()
    written = json.loads(file.read_text("utf-8"))
    assert written["profile"] == ({"mnemonics": {}} if profile else None)

"""A CPU-only PyTorch with an emulated AMD GPU: the device, libraries for it, and the commands.

Each test starts processes of its own: in this one torch may be imported already, and a device
cannot be taken back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.integration.hip_fixture import FOLDER_VARIABLE, build_kernels
from tests.integration.markdown import run_page

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER: Final = Path(__file__).parent / "emulated"
PLUGIN: Final = ("-p", "kernelmill.emulator.pytest_plugin")
TIMEOUT_S: Final = 240
Done = subprocess.CompletedProcess[str]

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def environ(pytestconfig: pytest.Config) -> dict[str, str]:
    """The environment of the processes; what they compile is kept for the next run."""
    assert pytestconfig.cache is not None
    root = Path(__file__).parents[2]
    return {
        **os.environ,
        "PYTHONPATH": f"{root / 'src'}:{root}",
        "KERNELMILL_EMULATOR_CACHE": str(pytestconfig.cache.mkdir("emulator")),
    }


@pytest.fixture(scope="module")
def kernels(pytestconfig: pytest.Config) -> Path:
    """The folder with the libraries of ``emulated/project``."""
    assert pytestconfig.cache is not None
    return build_kernels(pytestconfig.cache.mkdir("emulated-kernels"))


def python(arguments: Sequence[str], environ: dict[str, str], folder: Path) -> Done:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def emulator(arguments: Sequence[str], environ: dict[str, str], folder: Path) -> Done:
    return python(["-m", "kernelmill.emulator", *arguments], environ, folder)


def check(done: Done) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_torch_works_on_the_device_when_the_plugin_is_loaded(
    environ: dict[str, str], tmp_path: Path
) -> None:
    command = ["-m", "pytest", *PLUGIN, "--emulator-allow-no-launch", "-q"]
    text = check(python([*command, str(FOLDER / "device_checks.py")], environ, tmp_path))
    assert "emulated gfx942: no kernel was launched" in text
    assert "skipped" not in text


@pytest.mark.long
def test_every_operator_agrees_with_the_cpu_when_sampled(
    environ: dict[str, str], tmp_path: Path
) -> None:
    command = ["-m", "pytest", *PLUGIN, "--emulator-allow-no-launch", "-q"]
    check(python([*command, str(FOLDER / "operator_checks.py")], environ, tmp_path))


def test_libraries_run_when_called_with_device_tensors(
    environ: dict[str, str], kernels: Path, tmp_path: Path
) -> None:
    found = {**environ, FOLDER_VARIABLE: str(kernels)}
    command = ["-m", "pytest", *PLUGIN, "--emulator-report", "report.json", "-q"]
    command.append("--emulator-profile=profile.json")
    text = check(python([*command, str(FOLDER / "library_checks.py")], found, tmp_path))
    assert "emulated gfx942: " in text
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert (report["version"], report["device"], report["status"]) == (1, "emulated gfx942", 0)
    assert {launch["kernel"] for launch in report["launches"]} == {
        "_Z10add_kernelPKfS0_Pfi", "_Z12scale_kernelPfi", "_Z14reverse_kernelPf",
    }  # fmt: skip
    profile = json.loads((tmp_path / "profile.json").read_text("utf-8"))
    assert {it["kernel"] for it in profile["kernels"]} == {
        launch["kernel"] for launch in report["launches"] if not launch["error"]
    }


PROGRAM: Final = """\
import ctypes, os, subprocess, sys, torch
library = ctypes.CDLL(os.environ["KERNELMILL_TEST_KERNELS"] + "/libkernels_gfx942.so")
x = torch.ones(100, device="cuda")
pointer = ctypes.c_void_p(x.data_ptr())
assert library.launch_add(pointer, pointer, pointer, 100, None) == 0
print(x.sum().item(), torch.version.hip)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, sys.argv[0], "child"], check=True)
sys.exit(5)
"""


def test_status_and_launches_are_kept_when_a_command_starts_others(
    environ: dict[str, str], kernels: Path, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("check=True", "check=False"), "utf-8")
    command = ["run", "--report", "report.json", "--", sys.executable, "program.py"]
    done = emulator(command, {**environ, FOLDER_VARIABLE: str(kernels)}, tmp_path)
    assert done.returncode == 5, done.stderr
    assert done.stdout.splitlines() == ["200.0 7.1.0"] * 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("kernel-emulator: emulated gfx942: 2 launches of 1 kernel, ")
    assert "wave instructions in" in last
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["status"] == 5
    assert [launch["grid"] for launch in report["launches"]] == [[2, 1, 1]] * 2


def test_profile_is_printed_and_written_when_asked_for(
    environ: dict[str, str], kernels: Path, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("sys.exit(5)", ""), "utf-8")
    found = {**environ, FOLDER_VARIABLE: str(kernels)}
    command = ["run", "--profile=p.json", "--json", "--", sys.executable, "program.py"]
    done = emulator(command, found, tmp_path)
    printed = check(done)
    assert (tmp_path / "p.json").read_text("utf-8") == printed
    document = json.loads(printed)
    assert (document["version"], document["source"]) == (1, "emulated")
    (kernel,) = document["kernels"]
    assert (kernel["kernel"], kernel["launches"]) == ("_Z10add_kernelPKfS0_Pfi", 2)
    # 100 work-items in two processes: two loads and a store of 4 bytes, and an addition a wave.
    assert kernel["bytes_requested"] == 2 * 100 * 3 * 4
    assert kernel["flops_issued"] == {"matrix": 0, "vector": 2 * 2 * 64}
    assert done.stderr.splitlines()[:2] == ["200.0 7.1.0"] * 2, "the command's output moves"
    assert done.stderr.splitlines()[-1].startswith("kernel-emulator: emulated gfx942: 2 launches")
    done = emulator(["run", "--profile", "--", sys.executable, "program.py"], found, tmp_path)
    assert check(done).splitlines() == ["200.0 7.1.0"] * 2
    assert "_Z10add_kernelPKfS0_Pfi: 2 launches\n" in done.stderr


def test_device_is_absent_when_not_asked_for(
    environ: dict[str, str], kernels: Path, tmp_path: Path
) -> None:
    program = (
        "import kernelmill, kernelmill.emulator.hip_runtime, kernelmill.emulator.device.activate\n"
        "import torch; print(torch.cuda.is_available(), torch.version.hip)"
    )
    assert check(python(["-c", program], environ, tmp_path)) == "False None\n"
    load = f"import ctypes; ctypes.CDLL({str(kernels / 'libkernels_gfx942.so')!r})"
    done = python(["-c", load], environ, tmp_path)
    assert "libamdhip64.so.7: cannot open shared object file" in done.stderr


def test_runtime_says_no_device_when_no_emulator_is_attached(
    environ: dict[str, str], tmp_path: Path
) -> None:
    program = (
        "import ctypes; hip = ctypes.CDLL('libamdhip64.so.6'); count = ctypes.c_int(9)\n"
        "hip.hipGetErrorString.restype = ctypes.c_char_p\n"
        "print(hip.hipGetDeviceCount(ctypes.byref(count)), count.value, hip.hipMalloc(None, 4))\n"
        "print(hip.hipGetLastError(), hip.hipGetErrorString(100).decode())"
    )
    # -S: without the start-up hook, as a program that is not Python.
    command = ["run", "--", sys.executable, "-S", "-c", program]
    done = emulator(command, environ, tmp_path)
    text = "no emulator in this process: start it with kernel-emulator run -- COMMAND"
    assert check(done).splitlines() == ["100 0 100", f"100 {text}"]
    assert done.stderr.count(f"libamdhip64 (emulated): {text}") == 1


@pytest.mark.parametrize(
    ("command", "text"),
    [
        pytest.param(
            [], "no command to run\n  hint: for example: kernel-emulator run --", id="none"
        ),
        pytest.param(["--"], "no command to run", id="only dashes"),
        pytest.param(["--", "no-such-program"], "'no-such-program': no such program", id="missing"),
        pytest.param(
            ["--report", "no/such/r.json", "--", "true"], "cannot be written", id="report"
        ),
    ],
)
def test_run_refuses_when_the_command_is_wrong(
    command: list[str], text: str, environ: dict[str, str], tmp_path: Path
) -> None:
    done = emulator(["run", *command], environ, tmp_path)
    assert done.returncode == 2
    assert text in done.stderr
    assert not list(tmp_path.iterdir())


def test_status_is_the_shells_when_a_signal_ends_the_command(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = emulator(["run", "--", "sh", "-c", "kill -TERM $$"], environ, tmp_path)
    assert done.returncode == 128 + 15


def test_switch_is_refused_when_its_value_is_neither_0_nor_1(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = emulator(["doctor"], {**environ, "KERNELMILL_EMULATOR_INDUCTOR": "yes"}, tmp_path)
    assert done.returncode == 3
    assert "KERNELMILL_EMULATOR_INDUCTOR: 'yes' is neither 0 nor 1" in done.stderr


def test_sitecustomize_of_the_user_still_runs_when_emulating(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.marker = 'theirs'\n", "utf-8")
    path = f"{tmp_path}:{environ['PYTHONPATH']}"
    program = "import sys; print(sys.marker, [p for p in sys.path if 'startup' in p])"
    command = ["run", "--", sys.executable, "-c", program]
    assert check(emulator(command, {**environ, "PYTHONPATH": path}, tmp_path)) == "theirs []\n"


def test_doctor_names_what_is_missing_when_there_is_no_compiler(
    environ: dict[str, str], tmp_path: Path
) -> None:
    done = emulator(["doctor", "--json"], {**environ, "PATH": str(tmp_path)}, tmp_path)
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert (report["version"], report["is_fine"]) == (1, False)
    found = {item["name"]: item for item in report["checks"]}
    assert found["disassembler"] == {
        "name": "disassembler", "is_fine": True, "text": "knows s_endpgm of gfx942"
    }  # fmt: skip
    assert not found["emulated device"]["is_fine"]
    assert found["emulated device"]["text"].startswith("no C++ compiler on PATH")


FRESH: Final = """\
import ctypes, os, torch
library = ctypes.CDLL(os.environ["KERNELMILL_TEST_KERNELS"] + "/libkernels_gfx942.so")
def test_sums():
    old, fresh, out = torch.ones(9, device="cuda"), torch.empty(9, device="cuda"), torch.empty_like
    def add(a, b):
        result = out(a)
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (a, b, result)]
        assert library.launch_add(*pointers, 9, None) == 0
        return result
    assert add(add(old, old), old).tolist() == [3] * 9
    add(old, fresh)
if __name__ == "__main__":
    test_sums()
"""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["run", "--sanitize", "--", sys.executable, "test_fresh.py"], id="command"),
        pytest.param(["-m", "pytest", *PLUGIN, "--emulator-sanitize", "-q"], id="plugin"),
    ],
)
def test_read_of_fresh_memory_is_found_when_sanitizing(
    command: list[str], environ: dict[str, str], kernels: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_fresh.py").write_text(FRESH, "utf-8")
    start = emulator if command[0] == "run" else python
    done = start(command, {**environ, FOLDER_VARIABLE: str(kernels)}, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    text = done.stdout + done.stderr
    assert text.count("reads global memory that nobody wrote") >= 1
    assert "uninitialised-memory: _Z10add_kernelPKfS0_Pfi at 0x" in text
    assert "3 launches of 1 kernel" in text
    assert "; 1 finding" in text


SUITE: Final = """\
import ctypes, os, pytest, torch
library = ctypes.CDLL(os.environ["KERNELMILL_TEST_KERNELS"] + "/libkernels_gfx942.so")
def test_good(emulated_launches):
    x = torch.ones(4, device="cuda")
    p = ctypes.c_void_p(x.data_ptr())
    library.launch_add(p, p, p, 4, None)
    assert [launch.error for launch in emulated_launches] == [""]
def test_unnoticed():
    p = ctypes.c_void_p(torch.ones(4).data_ptr())
    library.launch_add_unchecked(p, p, p, 4)
def test_launches_nothing(emulated_launches):
    torch.ones(4, device="cuda")
"""


def test_tests_fail_when_a_launch_failed_unseen_or_never_was(
    environ: dict[str, str], kernels: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE, "utf-8")
    found = {**environ, FOLDER_VARIABLE: str(kernels)}
    done = python(["-m", "pytest", *PLUGIN, "-q", "-rA"], found, tmp_path)
    assert done.returncode == 1
    assert "PASSED test_suite.py::test_good" in done.stdout
    assert "FAILED test_suite.py::test_unnoticed - kernelmill.emulator.errors.De" in done.stdout
    assert "is outside every allocation" in done.stdout
    assert (
        "ERROR test_suite.py::test_launches_nothing - Failed: the test launched no" in done.stdout
    )


def test_run_of_pytest_fails_when_nothing_was_launched(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "test_nothing.py").write_text("def test_passes(): pass\n", "utf-8")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {' '.join(PLUGIN)}\n", "utf-8")
    done = python(["-m", "pytest"], environ, tmp_path)
    assert done.returncode == 1
    assert "tests that launch nothing prove nothing of a kernel" in done.stdout


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        pytest.param(
            "import sys; sys.modules['torch'] = sys  # is all that counts, and costs nothing\n"
            "import pytest; pytest.main(['-p', 'kernelmill.emulator.pytest_plugin'])",
            "torch is imported already, and looks for devices only then",
            id="torch first",
        ),
        pytest.param(
            "import pytest; open('conftest.py', 'w').write("
            "'pytest_plugins = [\"kernelmill.emulator.pytest_plugin\"]'); pytest.main()",
            "kernelmill.emulator.pytest_plugin was loaded too late: give -p",
            id="conftest",
        ),
    ],
)
def test_plugin_refuses_when_it_is_loaded_too_late(
    lines: str, text: str, environ: dict[str, str], tmp_path: Path
) -> None:
    done = python(["-c", lines], environ, tmp_path)
    assert text in done.stdout + done.stderr


def test_page_does_what_it_says_when_followed(
    environ: dict[str, str], root: Path, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "kernel-emulator"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelmill.emulator "$@"\n', "utf-8")
    program.chmod(0o755)
    path = f"{program.parent}:{Path(sys.executable).parent}:{environ['PATH']}"
    page = root / "docs" / "emulator.md"
    assert run_page(page, folder=tmp_path, root=root, env={**environ, "PATH": path}) == 2

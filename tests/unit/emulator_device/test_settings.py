"""What the environment says about emulating."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelmill.emulator.device.errors import DeviceError
from kernelmill.emulator.device.settings import read_settings


def test_nothing_is_on_when_the_environment_says_nothing() -> None:
    settings = read_settings({"HOME": "/home/me", "PATH": "/bin"})
    assert not settings.is_active
    assert not settings.sanitize
    assert not settings.allows_any_torch
    assert not settings.uses_inductor
    assert settings.log_folder is None
    assert settings.rocm == "7.1.0"
    assert settings.cache == Path("/home/me/.cache/kernelmill/emulator")
    assert settings.path == "/bin"


def test_everything_is_read_when_it_is_set() -> None:
    prefix = "KERNELMILL_EMULATOR"
    settings = read_settings(
        {
            prefix: "1", f"{prefix}_SANITIZE": "1", f"{prefix}_LOG": "/log",
            f"{prefix}_ROCM": "6.4.2",
            f"{prefix}_ANY_TORCH": "1", f"{prefix}_INDUCTOR": "0", "XDG_CACHE_HOME": "/cache",
        }
    )  # fmt: skip
    assert (settings.is_active, settings.sanitize, settings.allows_any_torch) == (True, True, True)
    assert settings.uses_inductor is False
    assert (settings.log_folder, settings.rocm) == (Path("/log"), "6.4.2")
    assert settings.cache == Path("/cache/kernelmill/emulator")
    assert read_settings({f"{prefix}_CACHE": "/own"}).cache == Path("/own")


@pytest.mark.parametrize(("text", "limit"), [("", None), ("5000", 5000)])
def test_limit_of_instructions_is_read_when_it_is_set(text: str, limit: int | None) -> None:
    settings = read_settings({"KERNELMILL_EMULATOR_MAX_INSTRUCTIONS": text})
    assert settings.max_instructions == limit
    assert settings.profile is False


@pytest.mark.parametrize("text", ["0", "-1", "many", "²"])
def test_limit_of_instructions_is_refused_when_it_is_no_number(text: str) -> None:
    with pytest.raises(DeviceError) as caught:
        read_settings({"KERNELMILL_EMULATOR_MAX_INSTRUCTIONS": text})
    assert str(caught.value) == (
        f"KERNELMILL_EMULATOR_MAX_INSTRUCTIONS: {text!r} is not a number of instructions"
    )


def test_switch_is_refused_when_it_is_neither_on_nor_off() -> None:
    with pytest.raises(DeviceError) as caught:
        read_settings({"KERNELMILL_EMULATOR_SANITIZE": "true"})
    assert str(caught.value) == (
        "KERNELMILL_EMULATOR_SANITIZE: 'true' is neither 0 nor 1\n"
        "  hint: set KERNELMILL_EMULATOR_SANITIZE=1"
    )

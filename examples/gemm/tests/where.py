"""Where the tests run, and how much of them."""

import os

import torch


def device_under_test() -> torch.device:
    """Return the device that is tested."""
    default = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(os.environ.get("KERNEL_TEST_DEVICE", default))


def is_emulated() -> bool:
    """Tell whether the device is a GPU that a CPU emulates."""
    return device_under_test().type == "cuda" and "(emulated)" in torch.cuda.get_device_name()


def has_few_shapes() -> bool:
    """Tell whether to leave out what takes long."""
    return os.environ.get("KERNEL_TEST_SHAPES", "few" if is_emulated() else "all") == "few"


def several_tiles() -> tuple[int, int, int]:
    """Return M, N and K of a product of more than one tile, none of them whole."""
    return (130, 150, 300) if has_few_shapes() else (200, 576, 1000)

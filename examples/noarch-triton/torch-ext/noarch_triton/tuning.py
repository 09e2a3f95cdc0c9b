"""Launch settings for each device, read from the data file beside this module."""

import json
from functools import cache
from pathlib import Path


@cache
def _table() -> dict[str, dict[str, int]]:
    return json.loads(Path(__file__).with_name("tuning.json").read_text(encoding="utf-8"))


def launch_settings(arch: str) -> dict[str, int]:
    """Return the settings for ``gfx942`` or ``sm_90``, or the usual ones for another device."""
    return _table().get(arch.partition(":")[0], _table()["default"])

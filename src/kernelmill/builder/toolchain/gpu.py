"""The GPUs of this machine, read from the kernel drivers' files."""

from __future__ import annotations

from pathlib import Path

TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
_KEY = "gfx_target_version"


def probe_local_archs(topology: Path = TOPOLOGY) -> tuple[str, ...]:
    """Return the architectures of the GPUs here, sorted; nothing where there are none.

    The driver writes ``gfx_target_version 90402`` for gfx942: two decimal digits each for minor
    and stepping, which the name writes as one hexadecimal digit. CPUs have 0.
    """
    versions: set[int] = set()
    for path in sorted(topology.glob("*/properties")):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue  # a GPU that this process may not use
        fields = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
        versions.add(int(fields.get(_KEY, "0")))
    return tuple(sorted(_name(version) for version in versions if version))


def has_nvidia_gpu(devices: Path = Path("/dev")) -> bool:
    """Return whether NVIDIA's driver offers a GPU here."""
    return any(devices.glob("nvidia[0-9]*"))


def _name(version: int) -> str:
    major, rest = divmod(version, 10_000)
    minor, stepping = divmod(rest, 100)
    return f"gfx{major}{minor:x}{stepping:x}"

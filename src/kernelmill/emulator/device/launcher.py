"""Running a command with the emulated device: its environment, and what it launched."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelmill.emulator.device.errors import CommandError
from kernelmill.emulator.device.settings import ACTIVE, LOG, MAX_INSTRUCTIONS, PROFILE, SANITIZE
from kernelmill.emulator.hip_runtime.properties import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelmill.emulator.device.settings import Settings

    Launch = Mapping[str, Any]
    """A ``LaunchRecord`` as it was written down."""

STARTUP: Final = Path(__file__).parent / "startup"
INDUCTOR_CACHE: Final = "TORCHINDUCTOR_CACHE_DIR"
REPORT_VERSION: Final = 1


def child_environment(
    environ: Mapping[str, str],
    *,
    settings: Settings,
    runtimes: Iterable[Path],
    log_folder: Path,
    sanitize: bool,
    profile: bool = False,
    max_instructions: int | None = None,
) -> dict[str, str]:
    """Return the environment in which a command sees the emulated device.

    Args:
        environ: the one to start from.
        settings: as read from it.
        runtimes: the compiled stand-ins.
        log_folder: where processes write their launches down.
        sanitize: look for faults.
        profile: count what launches ask of memory and LDS.
        max_instructions: after which a kernel is taken to be stuck.
    """
    folders = [str(path.parent) for path in runtimes]
    return {
        **environ,
        ACTIVE: "1",
        SANITIZE: str(int(sanitize)),
        **({PROFILE: "1"} if profile else {}),
        **({MAX_INSTRUCTIONS: str(max_instructions)} if max_instructions else {}),
        LOG: str(log_folder),
        "PYTHONPATH": _prepend([str(STARTUP)], environ.get("PYTHONPATH")),
        "LD_LIBRARY_PATH": _prepend(folders, environ.get("LD_LIBRARY_PATH")),
        # Graphs compiled for real devices must not be mixed up with these: torch's key for its
        # cache cannot tell them apart.
        INDUCTOR_CACHE: environ.get(INDUCTOR_CACHE) or str(settings.cache / "inductor"),
    }


def _prepend(entries: Sequence[str], path: str | None) -> str:
    return ":".join([*entries, path] if path else entries)


def read_launches(log_folder: Path) -> list[dict[str, Any]]:
    """Return the launches of all processes, in the order of each."""
    launches = []
    for file in sorted(log_folder.glob("*.jsonl")):
        launches += [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return launches


def describe_launches(launches: Sequence[Launch]) -> str:
    """Return a sentence for people on what was emulated."""
    if not launches:
        return f"emulated {TARGET}: no kernel was launched"
    kernels = Counter(launch["kernel"] for launch in launches)
    seconds = sum(launch["seconds"] for launch in launches)
    instructions = sum(launch["instructions"] for launch in launches)
    text = (
        f"emulated {TARGET}: {_count(len(launches), 'launch', 'launches')} of"
        f" {_count(len(kernels), 'kernel', 'kernels')}, {instructions:,} wave instructions in"
        f" {seconds:.2f} s"
    )
    if seconds:
        text += f" ({instructions / seconds:,.0f}/s)"
    failed = sum(1 for launch in launches if launch["error"])
    findings = sum(len(launch["findings"]) for launch in launches)
    if failed:
        text += f"; {_count(failed, 'launch', 'launches')} failed"
    if findings:
        text += f"; {_count(findings, 'finding', 'findings')}"
    return text


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def render_report(command: Sequence[str], status: int, launches: Sequence[Launch]) -> str:
    """Return the report file: JSON with every launch."""
    content = {
        "version": REPORT_VERSION,
        "device": f"emulated {TARGET}",
        "command": list(command),
        "status": status,
        "launches": list(launches),
    }
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def render_profile(launches: Sequence[Launch]) -> str:
    """Return the profile file: JSON with every kernel that was profiled."""
    from kernelmill.emulator.profile import add_up, to_json  # noqa: PLC0415 - NumPy: 0.2 s

    return json.dumps(to_json(add_up(launches)), indent=2, sort_keys=True) + "\n"


def write_report(path: Path, text: str) -> None:
    """Write a report whole or not at all.

    Raises:
        CommandError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
    except OSError as error:
        raise CommandError(f"the report cannot be written: {error}", where=str(path)) from error

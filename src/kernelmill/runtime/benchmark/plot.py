"""A picture of a benchmark's results. Needs matplotlib, which nothing else here does."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelmill.runtime.errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.runtime.benchmark.timing import Timing

THEMES: Final = {"light": ("white", "black"), "dark": ("#0d1117", "#e6edf3")}
"""Name -> background and text."""
KERNEL_COLOUR, REFERENCE_COLOUR = "#ff9d00", "#9aa0a6"


def ensure_plotting() -> None:
    """Stop here, before anything is timed, unless there is matplotlib.

    Raises:
        MissingDependency: there is not; an ``ImportError``.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependency(
            "--visual needs matplotlib", hint="pip install 'kernelmill[benchmark]'"
        )


def write_plots(base: str, title: str, timings: Mapping[str, Timing], kind: str) -> list[Path]:
    """Write ``<base>_light`` and ``<base>_dark`` and return their paths.

    Args:
        base: the path's beginning.
        title: above the bars.
        timings: ``<class>.<workload>`` -> its timing.
        kind: ``svg`` or ``png``.
    """
    paths = []
    for theme, (background, text) in THEMES.items():
        figure = _draw(title, timings, background, text)
        path = Path(f"{base}_{theme}.{kind}")
        figure.savefig(path, facecolor=background, bbox_inches="tight")
        paths.append(path)
    return paths


def _draw(title: str, timings: Mapping[str, Timing], background: str, text: str) -> Any:  # noqa: ANN401 - matplotlib's
    figure_module = importlib.import_module("matplotlib.figure")
    figure = figure_module.Figure(figsize=(8, 1.2 + 0.7 * len(timings)))
    axes = figure.subplots()
    axes.set_facecolor(background)
    for row, timing in enumerate(timings.values()):
        axes.barh(row - 0.2, timing.mean_ms, 0.38, xerr=timing.std_ms, color=KERNEL_COLOUR)
        if timing.reference_ms is not None:
            axes.barh(row + 0.2, timing.reference_ms, 0.38, color=REFERENCE_COLOUR)
    axes.set_yticks(range(len(timings)), [_label(*item) for item in timings.items()])
    axes.invert_yaxis()
    axes.set_title(title, color=text)
    axes.set_xlabel("ms, mean and standard deviation; grey: the reference", color=text)
    axes.tick_params(colors=text)
    return figure


def _label(name: str, timing: Timing) -> str:
    return name if timing.speedup is None else f"{name}  {timing.speedup:.2f}x"

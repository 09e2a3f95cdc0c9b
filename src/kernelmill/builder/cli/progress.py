"""What is waiting, running and done, while several variants are built."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from kernelmill.builder.cli.options import note
from kernelmill.builder.cli.summary import result_text
from kernelmill.builder.compile import OUR_WARNING
from kernelmill.builder.job import Outcome
from kernelmill.console import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from rich.progress import Progress, TaskID

    from kernelmill.builder.runners import Message
    from kernelmill.builder.runners.running import Event

_STEP: Final = re.compile(r"\[(\d+)/(\d+)\] ")


class Watcher(Protocol):
    """Shows events; a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def show(self, event: Event) -> None:
        """Show one."""


def open_watcher(names: Sequence[str], *, is_verbose: bool) -> Watcher:
    """Return what shows the progress of ``names``: bars on a terminal, lines elsewhere."""
    is_terminal = sys.stderr.isatty() and not is_verbose
    return TerminalWatcher(names) if is_terminal else PlainWatcher(names)


@dataclass(slots=True)
class PlainWatcher:
    """A line for everything that happens."""

    names: Sequence[str]
    running: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""

    def show(self, event: Event) -> None:
        """Print the event."""
        label = f"[{event.index + 1}/{len(self.names)}]"
        if isinstance(event.news, Outcome):
            self.running.discard(event.index)
            self.done.add(event.index)
            if event.news.error is not None:
                note(printable(f"{label} {event.news.variant}: {event.news.error}"))
            note(f"{len(self.done)} done, {len(self.running)} running, {self._waiting} waiting")
        else:
            self.running.add(event.index)
            # A sentence about a build names it already.
            subject = "" if event.news.kind == "told" else f"{self.names[event.index]}: "
            note(f"{label} {subject}{printable(_as_text(event.news))}")

    @property
    def _waiting(self) -> int:
        return len(self.names) - len(self.running) - len(self.done)


class TerminalWatcher:
    """A bar for each variant that runs, and a line for each that is done, above them."""

    def __init__(self, names: Sequence[str]) -> None:
        from rich.console import Console  # noqa: PLC0415 - costs 50 ms, and only terminals want it
        from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 - as above

        self._names = names
        self._bars: dict[int, TaskID] = {}
        self._shown: Progress = Progress(
            TextColumn("{task.fields[name]}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[said]}", markup=False),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self._started = time.monotonic()
        self._done = 0
        self._all = self._shown.add_task("", total=len(names), name="variants", said="")

    def __enter__(self) -> Self:
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def show(self, event: Event) -> None:
        """Move the bar of the event's variant."""
        if isinstance(event.news, Outcome):
            self._finish(event.index, event.news)
        else:
            self._advance(event.index, event.news)
        running = len(self._bars)
        waiting = len(self._names) - running - self._done
        counts = f"{self._done} done, {running} running, {waiting} waiting"
        self._shown.update(self._all, completed=self._done, said=counts)

    def _advance(self, index: int, message: Message) -> None:
        if index not in self._bars:
            name = self._names[index]
            self._bars[index] = self._shown.add_task("", total=None, name=name, said="")
        text = printable(_as_text(message))
        if OUR_WARNING.match(text):
            self._shown.console.print(text, markup=False, highlight=False)
            return
        step = _STEP.match(text)
        if step:
            done, total = map(int, step.groups())
            self._shown.update(self._bars[index], completed=done, total=total)
        if text:
            self._shown.update(self._bars[index], said=text)

    def _finish(self, index: int, outcome: Outcome) -> None:
        if index in self._bars:
            self._shown.remove_task(self._bars.pop(index))
        self._done += 1
        # As it is: "[red]" is no markup here.
        line = printable(f"{outcome.variant}  {result_text(outcome)}")
        self._shown.console.print(line, markup=False, highlight=False)


def _as_text(message: Message) -> str:
    match message.kind:
        case "started":
            return f"started by {message.text}"
        case "again":
            return f"{message.text}; again, by another worker"
        case _:
            return message.text

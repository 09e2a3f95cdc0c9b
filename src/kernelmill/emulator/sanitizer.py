"""Find what hardware does not report: races, wild accesses, reads of what was never written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelmill.emulator.access import gather, scatter
from kernelmill.emulator.arrays import LANES, Array
from kernelmill.emulator.findings import Finding, Findings, Kind
from kernelmill.emulator.paths import Paths, State, initial_undefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.emulator.batch import Batch
    from kernelmill.emulator.global_shadow import GlobalShadow
    from kernelmill.emulator.observer import Access, Touch
    from kernelmill.emulator.program import Block, Decoded, Layout
    from kernelmill.emulator.registers import Waves

READ, WRITE, ATOMIC = 0, 1, 2
PLANES: Final[dict[Access, int]] = {"read": READ, "write": WRITE, "atomic": ATOMIC}
MOST_SITES: Final = 254
"""Instructions that LDS shadow bytes can name; the others share the last number."""
MOST_PAIRS: Final = 16
"""Races that one comparison reports."""


class Sanitizer:
    """Watches one batch. ``findings`` may be shared by the batches of a launch."""

    def __init__(
        self,
        batch: Batch,
        layout: Layout,
        findings: Findings,
        *,
        kernel: str,
        defined_scalars: int,
        shadow: GlobalShadow,
        source_of: Callable[[int], str],
        barrier_before: Callable[[int], Decoded | None],
    ) -> None:
        self.batch = batch
        self.findings = findings
        self.kernel = kernel
        self._source_of = source_of
        self._barrier_before = barrier_before
        self._shadow = shadow
        self._paths = Paths(layout, self._report_path, batch.waves > batch.groups)
        start = State(undefined=initial_undefined(layout, defined_scalars))
        self._states = np.full(batch.waves, self._paths.number(start))
        self._current: Waves | None = None
        per_group = batch.waves // batch.groups
        size = batch.lds.shape[1]
        # Which instruction of which wave touched a byte since the last barrier; 0 is none.
        self._touched = np.zeros((3, batch.waves, size), np.uint8)
        self._is_touched = False
        self._written = np.zeros((batch.groups, size), np.uint8)
        self._per_group = per_group
        self._sites: list[Decoded] = []
        self._numbers: dict[int, int] = {}

    # Blocks

    def on_block(self, block: Block, waves: Waves) -> None:
        """Check waits, matrix hazards and undefined registers on the way through a block."""
        self._current = waves
        self._paths.follow(block, waves, self._states)

    def _report_path(self, kind: Kind, site: Decoded, detail: str) -> None:
        row = int(self._current.indices[0]) if self._current else 0
        self._report(kind, site, detail, row=row)

    def _report(
        self, kind: Kind, site: Decoded, detail: str, *, row: int, lane: int = 0, count: int = 1
    ) -> None:
        wave = int(self.batch.wave_of[row])
        self.findings.add(
            Finding(
                kind=kind,
                kernel=self.kernel,
                address=site.instruction.address,
                instruction=str(site.instruction),
                source=self._source_of(site.instruction.address),
                workgroup=int(self.batch.workgroups[self.batch.group_of[row]]),
                work_item=wave * LANES + lane,
                detail=detail,
                count=count,
            )
        )

    def _report_touch(self, kind: Kind, touch: Touch, lanes: Array, detail: str) -> None:
        wave, lane = (int(place[0]) for place in np.nonzero(lanes))
        row, count = int(touch.waves.indices[wave]), int(lanes.sum())
        self._report(kind, touch.site.decoded, detail, row=row, lane=lane, count=count)

    # Global memory

    def on_global(self, touch: Touch) -> None:
        """Look for races, and for memory that nobody wrote."""
        memory, access, width = self.batch.memory, touch.site.access, touch.site.width_bytes
        if access != "write":
            unwritten = memory.unwritten(touch.addresses, touch.lanes, width)
            if unwritten is not None and unwritten.any():
                detail = "reads global memory that nobody wrote"
                self._report_touch("uninitialised-memory", touch, unwritten, detail)
        if access != "read":
            memory.mark_lanes(touch.addresses, touch.lanes, width)
        race = self._shadow.touch(self.batch, touch)
        if race is not None:
            self._report_touch("global-race", touch, *race)

    def on_wild(self, touch: Touch) -> bool:
        """Report an access outside every allocation; the launch goes on."""
        address = int(touch.addresses[touch.lanes][0])
        freed = self.batch.memory.find_freed(address)
        kind: Kind = "use-after-free" if freed else "out-of-bounds"
        what = f"{touch.site.access} of {touch.site.width_bytes} bytes at {address:#x}"
        detail = f"{what}, {self.batch.neighbour(address)}"
        self._report_touch(kind, touch, touch.lanes, detail)
        return True

    # LDS

    def _site(self, site: Decoded) -> int:
        address = site.instruction.address
        known = self._numbers.get(address)
        if known is None:
            known = self._numbers[address] = min(len(self._sites), MOST_SITES) + 1
            self._sites.append(site)
        return known

    def on_lds(self, touch: Touch) -> None:
        """Note who touches which byte, and report bytes that nobody wrote."""
        w, width, access = touch.waves, touch.site.width_bytes, touch.site.access
        lanes = slice(None) if touch.lanes.all() else touch.lanes
        size = self._written.shape[1]
        group = w.batch.group_of[w.rows][:, None]
        written = (touch.addresses + (self._written.ctypes.data + group * size))[lanes]
        if access != "write":
            self._check_written(touch, written)
        if access != "read":
            scatter(written, width, _repeated(1, written.shape, width))
        if self._per_group > 1:
            plane = self._touched[PLANES[access]]
            rows = (plane.ctypes.data + w.indices * size)[:, None]
            touched = (touch.addresses + rows)[lanes]
            number = self._site(touch.site.decoded)
            scatter(touched, width, _repeated(number, touched.shape, width))
            self._is_touched = True

    def _check_written(self, touch: Touch, addresses: Array) -> None:
        width = touch.site.width_bytes
        full = np.uint32(0x01010101 >> (8 * max(4 - width, 0)))
        missing = np.zeros(addresses.shape, np.bool_)
        for word in gather(addresses, width):
            missing |= word != full
        if not missing.any():
            return
        whole = np.zeros(touch.lanes.shape, np.bool_)
        whole[touch.lanes] = missing.reshape(-1)
        self._report_touch("uninitialised-lds", touch, whole, "reads LDS that nobody wrote")
        scatter(addresses, width, _repeated(1, addresses.shape, width))  # reported once is enough

    def on_wild_lds(self, touch: Touch) -> None:
        """Report an access beyond the workgroup's LDS."""
        first = int(touch.addresses[touch.lanes][0])
        what = f"{touch.site.access} of {touch.site.width_bytes} bytes at {first}"
        detail = f"{what}, of {self.batch.lds_bytes} in all"
        self._report_touch("lds-out-of-bounds", touch, touch.lanes, detail)

    # Barriers

    def on_barrier(self, rows: Array, resume: Array) -> None:
        """Check who came, and what was touched since the last barrier."""
        groups = np.unique(self.batch.group_of[rows])
        self._shadow.next_epoch(self.batch, groups)
        self._check_divergence(rows, resume, groups)
        self._check_races(groups)

    def on_end(self) -> None:
        """Check what was touched since the last barrier."""
        self._check_races(np.arange(self.batch.groups))

    def _check_divergence(self, rows: Array, resume: Array, groups: Array) -> None:
        if len(rows) == len(groups) * self._per_group and (resume == resume[0]).all():
            return
        for group in groups:
            mine = self.batch.group_of[rows] == group
            places = np.unique(resume[mine])
            came = int(mine.sum())
            if came == self._per_group and len(places) == 1:
                continue
            detail = (
                f"{came} of {self._per_group} waves came, the others have ended"
                if came < self._per_group
                else "waves of one workgroup wait at different barriers"
            )
            site = self._barrier_before(int(places[0]))
            if site is not None:
                self._report("divergent-barrier", site, detail, row=int(rows[mine][0]))

    def _check_races(self, groups: Array) -> None:
        """Compare what the waves of each workgroup touched since the last barrier."""
        if not self._is_touched:
            return
        size = self._written.shape[1]
        shaped = self._touched.reshape(3, self._per_group, self.batch.groups, size)
        everyone = len(groups) == self.batch.groups
        part = shaped if everyone else shaped[:, :, groups]
        is_read, is_written, is_atomic = (part[kind] != 0 for kind in (READ, WRITE, ATOMIC))
        writers = is_written.sum(axis=0, dtype=np.uint8)
        if (writers > 0).any():
            others = (is_read | is_atomic | is_written).sum(axis=0, dtype=np.uint8)
            clash = (writers > 0) & (others > 1)
            if clash.any():
                self._report_race(part, clash, groups)
        mixed = is_atomic.any(axis=0) & (is_read & ~is_atomic).any(axis=0)
        if mixed.any():
            self._report_race(part, mixed, groups)
        if everyone:
            self._touched[:] = 0
            self._is_touched = False
        else:
            shaped[:, :, groups] = 0

    def _report_race(self, part: Array, clash: Array, groups: Array) -> None:
        """Name the two instructions behind each clash; each pair once."""
        seen: set[tuple[int, int]] = set()
        for group, byte in zip(*np.nonzero(clash), strict=True):
            kinds, waves = np.nonzero(part[:, :, group, byte])
            order = np.lexsort((waves, -kinds))
            kinds, waves = kinds[order], waves[order]
            other = int(np.argmax(waves != waves[0]))
            pair = tuple(int(part[kinds[i], waves[i], group, byte]) for i in (0, other))
            if pair in seen or waves[other] == waves[0]:
                continue
            seen.add((pair[0], pair[1]))
            first, second = (self._sites[number - 1] for number in pair)
            detail = (
                f"byte {byte} of LDS, also {'read' if kinds[other] == READ else 'written'} by wave"
                f" {int(waves[other])} with {second.instruction} at"
                f" {second.instruction.address:#x}, without a barrier between"
            )
            row = int(waves[0]) * self.batch.groups + int(groups[group])
            self._report("lds-race", first, detail, row=row)
            if len(seen) >= MOST_PAIRS:
                return


def _repeated(value: int, shape: tuple[int, ...], width: int) -> list[Array]:
    """Return words whose every byte is ``value``."""
    word = np.full(shape, value * 0x01010101, np.uint32)
    return [word] * max(width // 4, 1)

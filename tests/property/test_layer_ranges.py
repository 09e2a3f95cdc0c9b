"""The narrowest entry that fits a GPU is used, whatever the order of the mapping."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.layers.models import Offer

from kernelmill.runtime.layers import CUDAProperties, Device, Mode
from kernelmill.runtime.layers.choice import Choice, Miss, choose
from kernelmill.runtime.layers.device import Accelerator
from kernelmill.runtime.layers.mapping import Table, extended

ranges = st.lists(
    st.tuples(st.integers(50, 130), st.integers(50, 130)).map(lambda it: (min(it), max(it))),
    unique=True,
    max_size=8,
)


def chosen(entries: list[tuple[int, int]], capability: int) -> str:
    devices = {Device("cuda", CUDAProperties(*it)): Offer(name=str(it)) for it in entries}
    gpu = Accelerator(index=0, capability=capability, arch="")
    found = choose(
        extended(Table(), {"X": devices}),
        "X",
        mode=Mode.INFERENCE,
        device=Device("cuda"),
        probe=lambda: gpu,
    )
    if isinstance(found, Miss):
        return ""
    assert isinstance(found, Choice)
    return str(getattr(found.repository, "name", None))


@given(entries=ranges, capability=st.integers(45, 135), data=st.data())
def test_narrowest_range_that_holds_the_capability_wins(
    entries: list[tuple[int, int]], capability: int, data: st.DataObject
) -> None:
    fitting = [it for it in entries if it[0] <= capability <= it[1]]
    best = min(fitting, key=lambda it: (it[1] - it[0], -it[0]), default=None)
    assert chosen(entries, capability) == (str(best) if best else "")
    shuffled = data.draw(st.permutations(entries))
    assert chosen(shuffled, capability) == chosen(entries, capability)

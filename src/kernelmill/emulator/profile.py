"""What kernels did, added up over their launches. Emulated or modelled: never a time.

Not counted: scalar loads, scratch memory, caches; launches that failed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelmill.emulator.counters import LdsCounter, MemoryCounter
from kernelmill.emulator.families import count_families
from kernelmill.emulator.flops import Operations, total_operations
from kernelmill.emulator.resources import ARCH, Bound, Resources, bound_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Launch = Mapping[str, Any]
    """A ``LaunchRecord`` as it was written down."""

VERSION: Final = 1
_Item = TypeVar("_Item", MemoryCounter, LdsCounter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Launches that take up the same."""

    launches: int
    resources: Resources
    bound: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile:
    """All launches of one kernel."""

    kernel: str
    code: str
    """Tells kernels of one name apart: see ``Resources``."""
    configurations: tuple[Configuration, ...]
    """Most launches first."""
    mnemonics: Mapping[str, int]
    """How often each was executed, counted once for each wave."""
    memory: tuple[MemoryCounter, ...]
    """By address, as the next."""
    lds: tuple[LdsCounter, ...]

    @property
    def launches(self) -> int:
        """Return how many there were."""
        return sum(item.launches for item in self.configurations)

    @property
    def instructions(self) -> int:
        """Return how many were executed, counted once for each wave."""
        return sum(self.mnemonics.values())

    @property
    def operations(self) -> Operations:
        """Return what was multiplied and added."""
        return total_operations(self.mnemonics)

    @property
    def bytes_requested(self) -> int:
        """Return the bytes that active lanes asked of global memory."""
        return sum(item.bytes_requested for item in self.memory)

    @property
    def bytes_moved(self) -> int:
        """Return the same in whole lines, by the model."""
        return sum(item.bytes_moved for item in self.memory)

    @property
    def flops_per_byte(self) -> float | None:
        """Return the arithmetic intensity by bytes moved; ``None`` without any."""
        return self.operations.flops / self.bytes_moved if self.bytes_moved else None


def coalescing(requested: int, moved: int) -> float | None:
    """Return the share of moved bytes that was asked for; above 1 where lanes share bytes."""
    return requested / moved if moved else None


def add_up(launches: Iterable[Launch]) -> tuple[KernelProfile, ...]:
    """Return a profile for each kernel that was profiled, most instructions first."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for launch in launches:
        profile = launch.get("profile")
        if profile:
            key = launch["kernel"], profile["resources"]["code"]
            groups.setdefault(key, []).append(profile)
    found = [_add_up_one(kernel, code, counted) for (kernel, code), counted in groups.items()]
    return tuple(sorted(found, key=lambda item: (-item.instructions, item.kernel, item.code)))


def _add_up_one(kernel: str, code: str, counted: Sequence[Mapping[str, Any]]) -> KernelProfile:
    mnemonics: Counter[str] = Counter()
    for profile in counted:
        mnemonics.update(profile["mnemonics"])
    uses = Counter(Resources(**profile["resources"]) for profile in counted)
    return KernelProfile(
        kernel=kernel,
        code=code,
        configurations=tuple(
            Configuration(launches=count, resources=item, bound=bound_of(item))
            for item, count in uses.most_common()
        ),
        mnemonics=dict(sorted(mnemonics.items())),
        memory=_merge(MemoryCounter(**item) for profile in counted for item in profile["memory"]),
        lds=_merge(LdsCounter(**item) for profile in counted for item in profile["lds"]),
    )


_TEXTS: Final = frozenset({"address", "instruction", "access", "source"})


def _merge(counters: Iterable[_Item]) -> tuple[_Item, ...]:
    """Return one counter for each instruction."""
    merged: dict[int, _Item] = {}
    for item in counters:
        known = merged.get(item.address)
        if known is not None:
            before, now = asdict(known), asdict(item)
            sums = {name: before[name] + now[name] for name in now if name not in _TEXTS}
            merged[item.address] = replace(known, **sums)
        else:
            merged[item.address] = item
    return tuple(merged[address] for address in sorted(merged))


def to_json(profiles: Sequence[KernelProfile]) -> dict[str, object]:
    """Return profiles as JSON has them."""
    return {
        "version": VERSION,
        "source": "emulated",
        "device": ARCH,
        "kernels": [_kernel_json(item) for item in profiles],
    }


def _kernel_json(profile: KernelProfile) -> dict[str, object]:
    return {
        "kernel": profile.kernel,
        "code": profile.code,
        "launches": profile.launches,
        "instructions": profile.instructions,
        "families": count_families(profile.mnemonics),
        "mnemonics": dict(profile.mnemonics),
        "flops_issued": {
            "matrix": profile.operations.matrix_flops,
            "vector": profile.operations.vector_flops,
        },
        "integer_operations_issued": profile.operations.integer,
        "bytes_requested": profile.bytes_requested,
        "bytes_moved_modelled": profile.bytes_moved,
        "flops_per_byte_moved_modelled": profile.flops_per_byte,
        "memory": [_memory_json(item) for item in profile.memory],
        "lds": [_lds_json(item) for item in profile.lds],
        "occupancy_modelled": [
            {"launches": item.launches, **asdict(item.resources), **asdict(item.bound)}
            for item in profile.configurations
        ],
    }


def _memory_json(item: MemoryCounter) -> dict[str, object]:
    fields = asdict(item)
    fields["bytes_moved_modelled"] = fields.pop("bytes_moved")
    return {**fields, "coalescing_modelled": coalescing(item.bytes_requested, item.bytes_moved)}


def _lds_json(item: LdsCounter) -> dict[str, object]:
    fields = asdict(item)
    for name in ("cycles", "conflict_cycles"):
        fields[f"{name}_modelled"] = fields.pop(name)
    return fields

"""Instructions by family: for the list in the docs, and for the mix that a profile shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FAMILIES: Final = (
    ("Matrix", ("v_mfma_", "v_smfmac_")),
    ("Accumulation register moves", ("v_accvgpr_",)),
    ("Vector compare", ("v_cmp_", "v_cmpx_")),
    ("Packed, mixed and dot products", ("v_pk_", "v_dot", "v_fma_mix", "v_mad_mix")),
    ("Vector conversion", ("v_cvt_",)),
    ("Vector arithmetic and moves", ("v_",)),
    ("Scalar memory", ("s_load_", "s_store_", "s_buffer_", "s_scratch_", "s_atomic_", "s_atc_",
                       "s_dcache_")),
    ("Branches", ("s_branch", "s_cbranch_", "s_call_", "s_setpc_", "s_swappc_", "s_endpgm")),
    ("Barriers, waits and delays", ("s_barrier", "s_waitcnt", "s_nop", "s_sleep", "s_setprio")),
    ("Scalar arithmetic and control", ("s_",)),
    ("LDS", ("ds_",)),
    ("Global memory", ("global_",)),
    ("Flat memory", ("flat_",)),
    ("Scratch memory", ("scratch_",)),
    ("Buffers", ("buffer_", "tbuffer_")),
)  # fmt: skip
"""Title and how names begin. First match wins."""


def family_of(name: str) -> str:
    """Return the title of an instruction's family."""
    return next(title for title, prefixes in FAMILIES if name.startswith(prefixes))


def count_families(mnemonics: Mapping[str, int]) -> dict[str, int]:
    """Return how many instructions of each family there are, most first."""
    counts: Counter[str] = Counter()
    for name, count in mnemonics.items():
        counts[family_of(name)] += count
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

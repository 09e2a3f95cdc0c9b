"""Whether a torch that is not installed has everything that an extension will ask it for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelmill.builder.check import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from kernelmill.binary.symbols import Reference

_TORCHS: Final = re.compile(r"_Z(?:N?K?|T[ISV]N?K?)(?:2at|3c10|5torch|6caffe2)|aoti_torch_|torch_")
_SHOWN: Final = 3


def check_torch_symbols(
    undefined: Iterable[Reference], exported: Set[str], *, torch: str
) -> tuple[Finding, ...]:
    """Find uses of torch that its libraries do not answer.

    A header may declare what no library exports; the linker says nothing about that, and the
    extension would fail when it is loaded.

    Args:
        undefined: what the extension asks for.
        exported: the names that torch's libraries offer.
        torch: its release, for the message.
    """
    lacking = [
        it.name
        for it in undefined
        if _TORCHS.match(it.name) and not it.is_weak and it.name not in exported
    ]
    if not lacking:
        return ()
    more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
    return (
        Finding(
            problem=f"torch {torch} does not export {', '.join(lacking[:_SHOWN])}{more}",
            hint="use what its libraries export; `c++filt` tells the names",
        ),
    )

"""Whether a binary uses PyTorch as its variant's name promises."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from kernelmill.builder.check import Finding
from kernelmill.builder.check.mangled import namespaces, new_string, old_string
from kernelmill.builder.check.policies import read_additions
from kernelmill.builder.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TORCH_NAMESPACES: Final = frozenset({"at", "c10", "caffe2", "torch"})
STABLE_NAMESPACE: Final = ("torch", "stable")
SHIM_SYMBOL: Final = re.compile(r"aoti_\w+|torch_\w+")
_FULL_REGISTRATION: Final = ("torch", "Library")
_STABLE_REGISTRATION: Final = re.compile(r"aoti_torch_library_init_(?:def|fragment|impl)")


def check_stable_abi(
    names: Iterable[str], *, shim: Mapping[str, tuple[int, int]], version: tuple[int, int]
) -> tuple[Finding, ...]:
    """Find what is not in the stable ABI of a PyTorch version.

    Args:
        names: all symbols that the binary wants.
        shim: function -> the PyTorch that brought it.
        version: the oldest PyTorch to run on.
    """
    asked = ".".join(map(str, version))
    findings = []
    for name in sorted(set(names)):
        if is_torch_cxx(name) and namespaces(name)[:2] != STABLE_NAMESPACE:
            problem = f"{name} is C++ of PyTorch, which changes with every version"
            hint = "use torch::stable and its C shim only, or build without stable-abi"
        elif not SHIM_SYMBOL.fullmatch(name):
            continue
        elif (added := shim.get(name)) is None:
            problem = f"{name} is not in PyTorch's stable ABI"
            hint = "use what torch/csrc/stable declares"
        elif added > version:
            since = ".".join(map(str, added))
            problem = f"{name} is in PyTorch's stable ABI since {since}, and {asked} is wanted"
            hint = f"raise stable-abi to {since}, or compile for {asked}: TORCH_TARGET_VERSION"
        else:
            continue
        findings.append(Finding(problem=problem, hint=hint))
    return tuple(findings)


def check_string_abi(names: Iterable[str], *, cxx11_abi: bool | None) -> tuple[Finding, ...]:
    """Find calls of PyTorch with a ``std::string`` of the other ABI than the variant's name says.

    Strings inside the binary, or passed to the C++ library, which has both, are its own business.
    """
    if cxx11_abi is None:
        return ()
    has_other = old_string if cxx11_abi else new_string
    wrong = sorted(name for name in set(names) if is_torch_cxx(name) and has_other(name))
    if not wrong:
        return ()
    tag, other = ("cxx11", "old") if cxx11_abi else ("cxx98", "C++11")
    return (
        Finding(
            problem=f"the variant says {tag}, and PyTorch is called with strings of the {other} "
            f"ABI: {some_of(wrong)}",
            hint=f"compile with -D_GLIBCXX_USE_CXX11_ABI={int(cxx11_abi)}",
        ),
    )


def check_registration(names: Sequence[str]) -> tuple[Finding, ...]:
    """Find that an extension registers no operators: it never calls what ``TORCH_LIBRARY`` does."""
    if any(namespaces(it)[:2] == _FULL_REGISTRATION for it in names):
        return ()
    if any(_STABLE_REGISTRATION.fullmatch(it) for it in names):
        return ()
    return (
        Finding(
            problem="the extension registers no operators",
            hint="write TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) in the binding",
        ),
    )


def is_torch_cxx(name: str) -> bool:
    """Say whether a symbol is in one of PyTorch's C++ namespaces."""
    return bool(TORCH_NAMESPACES.intersection(namespaces(name)[:1]))


@cache
def read_shim() -> Mapping[str, tuple[int, int]]:
    """Return the functions of the stable ABI, from the data file, which names its source."""
    return read_additions("torch_stable_abi.json")

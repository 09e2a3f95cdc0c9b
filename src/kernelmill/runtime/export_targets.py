"""Which builds a bundle is made for: this machine's, those that are named, or all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelmill.runtime.export import choose_for
from kernelmill.runtime.load import variant_of
from kernelmill.runtime.locking import pass_gate
from kernelmill.runtime.selection import BUILD_FOLDER
from kernelmill.spec.errors import NoVariant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelmill.runtime.locking_download import Downloader
    from kernelmill.spec.lockfile import LockedKernel
    from kernelmill.spec.variant import Variant

Catalogue = dict["LockedKernel", tuple[str, ...]]
"""Each kernel, with the folders of its builds."""


def fetch_catalogue(downloader: Downloader, kernels: Sequence[LockedKernel]) -> Catalogue:
    """Ask which builds each kernel has; trust comes first, as everywhere."""
    hub, found = downloader.hub, {}
    for it in kernels:
        pass_gate(hub, it.repo_id, downloader.trust)
        found[it] = hub.fetch_folders(it.repo_id, it.commit, BUILD_FOLDER)
    return found


def select_targets(
    targets: Sequence[Variant],
) -> Callable[[LockedKernel, Sequence[str]], tuple[str, ...]]:
    """Return the choice of the builds that run where ``targets`` do."""

    def select(kernel: LockedKernel, names: Sequence[str]) -> tuple[str, ...]:
        chosen = {target: choose_for(target, names) for target in targets}
        for target, name in chosen.items():
            if name is None:
                raise NoVariant(
                    f"'{kernel.repo_id}' has no build that runs where {target} does",
                    where=f"{kernel.repo_id} (revision: {kernel.commit})",
                    hint=f"it has {', '.join(sorted(names)) or 'none'}",
                )
        return tuple(sorted({name for name in chosen.values() if name is not None}))

    return select


def common_targets(
    catalogue: Mapping[LockedKernel, Sequence[str]],
) -> tuple[tuple[Variant, ...], dict[str, str]]:
    """Return every build that the whole set runs with, and why it does not with the others."""
    names = sorted({name for each in catalogue.values() for name in each})
    known = [it for it in map(variant_of, names) if it is not None]
    skipped = {
        str(target): f"'{kernel.repo_id}' has no build that runs there"
        for target in known
        for kernel, each in catalogue.items()
        if choose_for(target, each) is None
    }
    return tuple(it for it in known if str(it) not in skipped), skipped

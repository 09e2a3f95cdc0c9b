"""Which runner a word of the user's names."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Final

from kernelmill.builder.errors import install_hint
from kernelmill.builder.jobs import job_count
from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Protocol

    from kernelmill.builder.job import Site
    from kernelmill.builder.runners import Runner

    class OpenRunner(Runner, AbstractContextManager[object], Protocol):
        """A runner that is left when it is done."""


PROCESSES: Final = "processes"
IN_ORDER: Final = "in-order"
_CLUSTER: Final = re.compile(r"dask(?P<tls>\+tls)?://(?P<place>[^/\s]+:[0-9]+)/?")


def parse_executor(text: str) -> str:
    """Return ``text`` when it names a runner.

    Raises:
        ArgumentTypeError: it does not.
    """
    if text not in {PROCESSES, IN_ORDER} and not _CLUSTER.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is neither {PROCESSES}, {IN_ORDER} nor dask://HOST:PORT")
    return text


def is_cluster(name: str | None) -> bool:
    """Tell whether ``name`` names other machines."""
    return bool(name and _CLUSTER.fullmatch(name))


def open_runner(
    name: str,
    site: Site,
    *,
    is_verbose: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> OpenRunner:
    """Return the runner that ``name`` names.

    Args:
        name: as ``parse_executor`` returned it.
        site: this machine, and the kernel.
        is_verbose: whether to hear of everything that the tools print.
        say: called with what is done before the builds.

    Raises:
        HostError: there is no such cluster.
    """
    compilers = job_count(site.toolchain.capacity)
    if cluster := _CLUSTER.fullmatch(name):
        # Here: it takes half a second, and few want it.
        try:
            from kernelmill.builder.runners.dask import Cluster  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise HostError(f"cannot speak to Dask: {error}", hint=install_hint("dask")) from error

        address = f"{'tls' if cluster['tls'] else 'tcp'}://{cluster['place']}"
        return Cluster(address, site, is_verbose=is_verbose, say=say)
    from kernelmill.builder.runners.processes import Processes  # noqa: PLC0415 - as above

    return Processes(compilers=compilers, is_verbose=is_verbose)

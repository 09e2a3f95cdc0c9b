"""The part of a build on a Dask cluster that runs on its workers."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from distributed import get_worker

from kernelmill import __version__
from kernelmill.builder.compile import Workspace
from kernelmill.builder.jobs import job_count
from kernelmill.builder.runners import Message, WorkerDied
from kernelmill.builder.runners.child import Child, Order
from kernelmill.builder.runners.parcel import File, PackedSdk, install_sdk, pack_folder, write_files
from kernelmill.builder.sdk.store import open_store
from kernelmill.builder.toolchain.host import probe_capacity
from kernelmill.builder.workplace import WORK_FOLDER
from kernelmill.spec.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kernelmill.builder.job import Job, Outcome

_LOOK_S: Final = 0.5
"""Between two looks at whether somebody still waits."""
_ATTEMPTS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A job for another machine, with all that it needs from this one."""

    job: Job
    """``root``, ``env`` and ``python`` are the worker's business: of ``env`` only what is asked
    for on the command line is in it."""
    sources: tuple[File, ...]
    number: int
    """Of the job, in its messages."""
    topic: str
    """Where the messages go."""
    sharing: Mapping[str, int]
    """Host -> how many builds may share it."""
    is_verbose: bool
    version: str = __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What comes back."""

    outcome: Outcome
    root: str
    """The folder that the outcome's texts call the kernel's."""
    files: tuple[File, ...] = ()
    """The finished variant."""
    log: bytes = b""
    """What the tools printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Depot:
    """The store of a worker."""

    place: tuple[str, str]
    """Host and folder: workers that share them share the store."""
    sdks: Mapping[str, str]
    """Name -> NAR sha256."""
    version: str = __version__


def read_depot() -> Depot:
    """Return which SDKs this worker has."""
    store = open_store(os.environ)
    records = [it.record for it in store.installed()]
    return Depot(
        place=(socket.gethostname(), str(store.folder)),
        sdks={it.name: it.nar_sha256 for it in records},
    )


def receive_sdk(packed: PackedSdk) -> None:
    """Put an SDK into this worker's store."""
    install_sdk(packed, open_store(os.environ))


def perform(parcel: Parcel) -> Delivery:
    """Build one variant from what is in ``parcel``, in a folder that is gone afterwards.

    Raises:
        HostError: another kernelmill sent it.
        WorkerDied: the process that built it was killed, twice.
    """
    if parcel.version != __version__:
        raise HostError(
            f"the worker has kernelmill {__version__}, not {parcel.version}",
            hint="install the same version on every worker",
        )
    worker: Any = get_worker()
    key = worker.get_current_task()

    def tell(message: Message) -> None:
        said = {"number": parcel.number, "kind": message.kind, "text": message.text}
        worker.log_event(parcel.topic, said)

    tell(Message("started", str(worker.address)))
    with tempfile.TemporaryDirectory(prefix="kernelmill-", dir=worker.local_directory) as folder:
        root = Path(folder).resolve() / "kernel"
        write_files(parcel.sources, root)
        job = _at_home(parcel, root, host=worker.address)
        outcome = _run(
            Order(job=job, is_verbose=parcel.is_verbose), tell, lambda: _is_wanted(worker, key)
        )
        log = Workspace(root=root, folder=root / WORK_FOLDER / outcome.variant).log
        return Delivery(
            outcome=outcome,
            root=str(root),
            files=pack_folder(outcome.folder) if outcome.folder else (),
            log=log.read_bytes() if log.is_file() else b"",
        )


def _at_home(parcel: Parcel, root: Path, *, host: str) -> Job:
    """Return the job as it is to be done on this machine."""
    env = {**os.environ, **parcel.job.env}
    sharing = parcel.sharing.get(host_of(host), 1)
    jobs = max(1, job_count(probe_capacity(env)) // sharing)
    return replace(parcel.job, root=root, env={**env, "MAX_JOBS": str(jobs)}, python=sys.executable)


def host_of(address: str) -> str:
    """Return the host of a worker's address, such as ``tcp://10.0.0.1:34567``."""
    return address.rpartition("://")[2].rpartition(":")[0]


def _run(order: Order, tell: Callable[[Message], None], is_wanted: Callable[[], bool]) -> Outcome:
    for attempt in range(1, _ATTEMPTS + 1):
        child = Child(order)
        try:
            with _ended_unless(is_wanted, child):
                # The name that the waiting side shows is the cluster's, not that of the process.
                return child.run(lambda it: None if it.kind == "started" else tell(it))
        except WorkerDied as error:
            if attempt == _ATTEMPTS or not is_wanted():
                raise
            tell(Message("again", error.problem))
    raise AssertionError("the last attempt returns or raises")


@contextmanager
def _ended_unless(is_wanted: Callable[[], bool], child: Child) -> Iterator[None]:
    """End ``child`` when nobody waits for it any more."""
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.wait(_LOOK_S):
            if not is_wanted():
                child.end()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def _is_wanted(worker: Any, key: object) -> bool:  # noqa: ANN401 - distributed's own is untyped here
    """Tell whether the scheduler still wants a task: not when its client left or took it back."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state != "cancelled"

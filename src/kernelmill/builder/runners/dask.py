"""Jobs on the machines of a Dask cluster: sources and SDKs go there, variants come back."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from distributed import Client
from distributed.scheduler import KilledWorker

from kernelmill import __version__
from kernelmill.builder.backends import rules_for
from kernelmill.builder.compile import Workspace
from kernelmill.builder.errors import install_hint
from kernelmill.builder.job import Outcome
from kernelmill.builder.runners import Message, WorkerDied
from kernelmill.builder.runners.arrival import install_variant
from kernelmill.builder.runners.parcel import pack_sdk, pack_sources
from kernelmill.builder.runners.remote import (
    Delivery,
    Depot,
    Parcel,
    host_of,
    perform,
    read_depot,
    receive_sdk,
)
from kernelmill.builder.wording import count_of
from kernelmill.builder.workplace import WORK_FOLDER, make_folder
from kernelmill.builder.writing import replace_text
from kernelmill.spec.errors import HostError, KernelError
from kernelmill.spec.variant import ArchVariant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import Self

    from kernelmill.builder.job import Job, Site
    from kernelmill.builder.plan import BuildPlan
    from kernelmill.builder.request import Goal
    from kernelmill.builder.sdk.store import Sdk

_TIMEOUT_S: Final = 10
_STARTS: Final = 2
"""A job whose worker died is given to another once."""
_KINDS: Final = frozenset({"started", "told", "line", "again"})
_SENT: Final = ("MAX_JOBS", "PYTORCH_ROCM_ARCH")
"""Of the environment. The rest of it belongs to this machine, and may hold secrets."""


class Cluster:
    """The workers of one scheduler. What they send back is read before it is believed."""

    retries = 0  # Dask gives the job of a dead worker to another by itself

    def __init__(
        self,
        address: str,
        site: Site,
        *,
        is_verbose: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client = _connect(address)
        self._site = site
        self._is_verbose = is_verbose
        self._say = say
        self._topic = f"kernelmill-{uuid.uuid4()}"
        self._sources = pack_sources(site.tree)
        self._listeners: list[Callable[[Message], None]] = []
        self._futures: list[Future[object]] = []
        self._starts: Counter[int] = Counter()
        self._sharing: Mapping[str, int] = {}

    def __enter__(self) -> Self:
        self._client.subscribe_topic(self._topic, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._futures:
            future.cancel()  # its worker looks, and ends what it started
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it complains of leaving
        self._client.close()

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Send the SDKs that ``jobs`` need and the workers lack.

        Raises:
            HostError: there are no workers, or they have another kernelmill.
        """
        threads = self._threads()
        self._sharing = {host: min(count, len(jobs)) for host, count in threads.items()}
        depots = cast("Mapping[str, Depot]", self._run(read_depot))
        for address, depot in depots.items():
            if depot.version != __version__:
                raise HostError(
                    f"the worker {address} has kernelmill {depot.version}, not {__version__}",
                    hint="install the same version on every worker",
                )
        for sdk in self._needed(jobs):
            self._send(sdk, depots)

    def submit(
        self, job: Job, *, waiting: int, tell: Callable[[Message], None]
    ) -> Future[object] | None:
        """Give a job to the scheduler; see ``Runner``."""
        del waiting  # Dask knows how much room there is
        number = len(self._listeners)
        self._listeners.append(tell)
        parcel = Parcel(
            job=replace(job, env={it: job.env[it] for it in _SENT if it in job.env}),
            sources=self._sources,
            number=number,
            topic=self._topic,
            sharing=self._sharing,
            is_verbose=self._is_verbose,
        )
        executor = self._client.get_executor(pure=False)
        future: Future[object] = executor.submit(perform, parcel)
        self._futures.append(future)
        return future

    def settle(self, job: Job, future: Future[object]) -> Outcome:
        """Take in what a worker sent; see ``Runner``."""
        try:
            error = future.exception()
        except CancelledError:
            raise WorkerDied(
                "worker died, and so did the next", hint="its own log says more"
            ) from None
        if isinstance(error, KilledWorker):
            raise WorkerDied("worker died, more than once", hint="its own log says more") from error
        if isinstance(error, WorkerDied):
            raise error
        if error is not None:
            problem = _explain(error, "a worker")
            return Outcome(result="failed", variant=str(job.goal), error=problem)
        try:
            return self._take_in(job, future.result())
        except KernelError as problem:
            return Outcome(result="failed", variant=str(job.goal), error=problem)

    def _take_in(self, job: Job, delivery: object) -> Outcome:
        """Return what became of a job.

        Raises:
            KernelError: what was sent cannot be taken in.
        """
        if not isinstance(delivery, Delivery) or not isinstance(delivery.outcome, Outcome):
            raise HostError(
                f"a worker sent {delivery!r:.80}, which is no variant",
                hint=f"every worker needs kernelmill {__version__}, as it was released",
            )
        outcome = _at_home(delivery, job.root)
        if outcome.result == "unavailable":
            return outcome
        variant = _require_wanted(outcome.variant, job.goal)
        self._keep_log(delivery, job.root, outcome.variant)
        if outcome.result == "failed":
            return outcome
        folder = install_variant(delivery.files, self._site.tree, variant)
        plan = _plan(self._site, job)
        return replace(outcome, folder=folder, is_installed=bool(plan and plan.is_installed))

    @staticmethod
    def _keep_log(delivery: Delivery, root: Path, name: str) -> None:
        work = Workspace(root=root, folder=root / WORK_FOLDER / name)
        make_folder(work.folder)
        log = _with_root(delivery.log.decode(errors="replace"), delivery.root, root)
        try:
            replace_text(work.log, log)
        except OSError as error:
            raise HostError(
                f"the log cannot be written: {error.strerror}",
                where=str(work.log),
                hint="make room for it, and build once more",
            ) from error

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Pass a worker's message on, in the client's thread.

        The first may come while ``submit`` still waits for the future of its job.
        """
        match event[1]:
            case {"number": int(number), "kind": str(kind), "text": str(text)}:
                pass
            case _:
                return  # no worker of ours says so
        if kind not in _KINDS or not 0 <= number < len(self._listeners):
            return
        tell = self._listeners[number]
        if kind == "started":
            self._starts[number] += 1
            if self._starts[number] > _STARTS:
                # Not here: it waits for this thread.
                cancel = self._futures[number].cancel
                threading.Thread(target=cancel, daemon=True).start()
                return
            if self._starts[number] > 1:
                tell(Message("again", "worker died"))
        tell(Message(cast("Literal['started', 'told', 'line', 'again']", kind), text))

    def _threads(self) -> Counter[str]:
        """Return how many builds each host may run at once."""
        threads: Counter[str] = Counter()
        for address, worker in self._client.scheduler_info(n_workers=-1)["workers"].items():
            threads[host_of(address)] += worker["nthreads"]
        if not threads:
            raise HostError("the Dask cluster has no workers", hint="start some: dask worker")
        self._say(
            f"{count_of(sum(threads.values()), 'build')} at once on "
            f"{count_of(len(threads), 'machine')} of Dask's"
        )
        return threads

    def _needed(self, jobs: Sequence[Job]) -> tuple[Sdk, ...]:
        """Return the SDKs that builds here would use: torch's, and those of the backend's tools."""
        stored = {it.record.name: it for it in self._site.store.installed()}
        plans = filter(None, (_plan(self._site, job) for job in jobs))
        used = {
            name
            for plan in plans
            for inputs in (plan.inputs, rules_for(plan.backend).inputs(plan, self._site.toolchain))
            for name in inputs
        }
        return tuple(sdk for name, sdk in stored.items() if name in used)

    def _send(self, sdk: Sdk, depots: Mapping[str, Depot]) -> None:
        """Send ``sdk`` to one worker of each store that lacks it."""
        name, wanted = sdk.record.name, sdk.record.nar_sha256
        lacking: dict[tuple[str, str], str] = {}
        for address, depot in depots.items():
            if depot.sdks.get(name, wanted) != wanted:
                raise HostError(
                    f"the worker {address} has another {name}: NAR sha256 {depot.sdks[name]}",
                    hint=f"remove it there, from {depot.place[1]}",
                )
            if name not in depot.sdks:
                lacking.setdefault(depot.place, address)
        if lacking:
            self._say(f"sending {name} to {', '.join(sorted(lacking.values()))}")
            self._run(receive_sdk, pack_sdk(sdk), workers=[*lacking.values()])

    def _run(
        self, function: Callable[..., object], *args: object, workers: list[str] | None = None
    ) -> Mapping[str, object]:
        """Run ``function`` on each of ``workers``, or on all; return address -> its result."""
        results: Mapping[str, object] = self._client.run(
            function, *args, workers=workers, on_error="return"
        )
        for address, result in results.items():
            if isinstance(result, BaseException):
                raise _explain(result, address)
        return results


def _connect(address: str) -> Any:  # noqa: ANN401 - its methods are untyped
    try:
        return Client(address, timeout=_TIMEOUT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise HostError(
            f"no Dask scheduler answers at {address}: {error}",
            hint="start one with `dask scheduler`, or correct --executor",
        ) from error


def _plan(site: Site, job: Job) -> BuildPlan | None:
    """Return how this machine would build it, if it could."""
    with suppress(KernelError):
        return site.plan(job.goal)
    return None


def _at_home(delivery: Delivery, root: Path) -> Outcome:
    """Return the outcome with the paths of this machine."""
    error = delivery.outcome.error
    if error is not None:
        for name in ("problem", "where", "hint"):
            setattr(error, name, _with_root(getattr(error, name), delivery.root, root))
    return replace(delivery.outcome, error=error, folder=None)


def _with_root(text: str, theirs: str, ours: Path) -> str:
    """Return ``text`` with the path of the kernel's folder on this machine."""
    return text.replace(theirs, str(ours)) if theirs else text


def _require_wanted(name: str, goal: Goal) -> ArchVariant:
    """Return the variant that a worker built.

    Raises:
        KernelError: it is not the one that was asked for.
    """
    variant = parse_variant(name)
    if isinstance(variant, ArchVariant) and (
        variant == goal.variant
        or (goal.variant is None and variant.compute.backend is goal.backend)
    ):
        return variant
    raise HostError(
        f"a worker built {name}, and was asked for {goal}",
        hint=f"every worker needs kernelmill {__version__}, as it was released",
    )


def _explain(error: BaseException, worker: str) -> KernelError:
    if isinstance(error, KernelError):
        return error
    return HostError(
        f"{worker} could not run kernelmill {__version__}: {str(error) or type(error).__name__}",
        hint=f"every worker needs the same one: {install_hint('builder,dask')}",
    )

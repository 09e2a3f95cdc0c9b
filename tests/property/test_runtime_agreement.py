"""Every entry point answers from one choice (V16): random repositories that need each other."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, unload_kernels

from kernelmill.runtime import api
from kernelmill.runtime import session as sessions
from kernelmill.runtime.hub.remembered import RememberedHub
from kernelmill.spec import status as status_format
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.metadata import KernelDependency
from kernelmill.spec.names import RepoId
from kernelmill.spec.status import Redirect
from kernelmill.spec.version import parse_release

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelmill.runtime.cache import Cache
    from kernelmill.runtime.hub import Hub
    from kernelmill.runtime.settings import Settings

REPOS = ("acme/a", "acme/b", "stranger/c")
BRANCHES = ("v1", "v2")
VARIANTS = ("torch-cpu", "torch-universal", "torch28-cxx11-cpu-x86_64-linux", "not a variant")
HOST = Host(
    cpu="x86_64",
    os="linux",
    backend=Backend.CPU,
    torch=parse_release("2.13.0+cpu", what="torch"),
    cxx11_abi=True,
    python=(3, 11),
)
names = st.sampled_from([*map(RepoId.parse, REPOS), RepoId.parse("acme/none")])
dependencies = st.lists(
    st.builds(KernelDependency, repo_id=names, version=st.sampled_from([1, 2])),
    max_size=2,
    unique_by=lambda it: it.repo_id,
).map(tuple)
branches = st.fixed_dictionaries(
    {
        "builds": st.dictionaries(st.sampled_from(VARIANTS), dependencies, max_size=2),
        "redirect": st.none()
        | st.builds(Redirect, destination=names, revision=st.sampled_from(BRANCHES)),
    }
)
hubs = st.dictionaries(
    st.tuples(st.sampled_from(REPOS), st.sampled_from(BRANCHES)), branches, min_size=2
)


def make_hub(content: dict[tuple[str, str], dict[str, object]]) -> MemoryHub:
    hub = MemoryHub()
    for (repo, branch), it in content.items():
        builds, redirect = it["builds"], it["redirect"]
        assert isinstance(builds, dict)
        status = {status_format.FILE_NAME: status_format.dumps(redirect).encode()} if isinstance(
            redirect, Redirect
        ) else {}  # fmt: skip
        files = {
            name: kernel_files(value=f"{repo} {branch} {name}", kernel_depends=needs)
            for name, needs in builds.items()
        }
        hub.publish(repo, branch, files, others=status)
    return hub


def outcome(function: Callable[[], object]) -> object:
    """Return what a call gives, or the error it raises."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - whatever it is, the others have to give the same
        return f"{type(error).__name__}: {error}"


@settings(max_examples=80, deadline=None)
@given(content=hubs, version=st.sampled_from([None, 1, 2]), allows=st.booleans())
def test_entry_points_agree_on_kernels_that_need_each_other(
    content: dict[tuple[str, str], dict[str, object]], version: int | None, allows: bool
) -> None:
    hub = make_hub(content)

    def open_hub(_: Settings, cache: Cache, *__: object) -> Hub:
        return RememberedHub(endpoint=hub.endpoint, cache=cache, connect=lambda: hub, max_age_s=0)

    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict("os.environ", {"KERNELS_CACHE": folder}),
        patch.object(sessions, "open_hub", open_hub),
        patch.object(sessions, "probe_host", lambda: HOST),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        has = outcome(lambda: api.has_kernel("acme/a", version=version, trust_remote_code=allows))
        fetched = [path.name for path in Path(folder).rglob("*") if path.suffix == ".py"]
        assert fetched == [], "a question fetches metadata alone"
        installed = outcome(
            lambda: api.install_kernel("acme/a", version=version, trust_remote_code=allows)
        )
        loaded = outcome(
            lambda: api.get_kernel("acme/a", version=version, trust_remote_code=allows)
        )
        listed = outcome(lambda: api.get_kernel_variants("acme/a", version=version))
        unload_kernels()
    event(has.partition(":")[0] if isinstance(has, str) else f"has_kernel is {has}")
    if isinstance(has, str):
        assert installed == loaded == has
    elif has:
        assert installed == Path(getattr(loaded, "__file__", "")).parent
        assert isinstance(listed, list)
        first = listed[0]
        assert isinstance(first, api.VariantAccepted)
        assert str(first.variant) == Path(str(installed)).name
    else:
        assert installed == loaded
        assert str(loaded).startswith("NoVariant: ")

"""Every entry point answers from one choice: checked on repositories that hypothesis makes up."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.runtime.kernel_files import MemoryHub, kernel_files, unload_kernels

import kernels
from kernelmill.runtime import session as sessions
from kernelmill.runtime.explain import explain
from kernelmill.runtime.session import open_session
from kernelmill.spec.backend import Backend
from kernelmill.spec.host import Host
from kernelmill.spec.version import parse_release

VARIANTS = (
    "torch-cpu",
    "torch-universal",
    "torch-rocm",
    "torch213-cxx11-cpu-x86_64-linux",
    "torch28-cxx11-cpu-x86_64-linux",
    "torch-stable-abi29-cpu-x86_64-linux",
    "not a variant",
)
HOST = Host(
    cpu="x86_64",
    os="linux",
    backend=Backend.CPU,
    torch=parse_release("2.13.0+cpu", what="torch"),
    cxx11_abi=True,
    python=(3, 11),
)
repositories = st.dictionaries(
    st.sampled_from(["main", "v0", "v1", "v2", "v10", "vNext"]),
    st.sets(st.sampled_from(VARIANTS)),
    min_size=1,
)


def outcome(version: int | None) -> object:
    """Load, and say what came of it."""
    try:
        return Path(kernels.get_kernel("acme/toy", version=version).__file__ or "").parent.name
    except FileNotFoundError:
        return None
    except ValueError as error:
        return str(error)


def answer(version: int | None) -> object:
    try:
        return kernels.has_kernel("acme/toy", version=version)
    except ValueError as error:
        return str(error)


@settings(max_examples=60, deadline=None)
@given(repository=repositories, version=st.sampled_from([None, 0, 1, 2, 10]))
def test_entry_points_agree(repository: dict[str, set[str]], version: int | None) -> None:
    hub = MemoryHub()
    for branch, variants in repository.items():
        builds = {name: kernel_files(value=f"{branch} {name}") for name in variants}
        hub.publish("acme/toy", branch, builds)
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict("os.environ", {"KERNELS_CACHE": folder}),
        patch.object(sessions, "open_hub", lambda *_: hub),
        patch.object(sessions, "probe_host", lambda: HOST),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        loaded = outcome(version)
        has = answer(version)
        if isinstance(has, str):
            assert loaded == has
            return
        listed = kernels.get_kernel_variants("acme/toy", version=version)
        explained = explain(open_session(), "acme/toy", version=version).resolution.chosen
        unload_kernels()
    accepted = [str(it.variant) for it in listed if isinstance(it, kernels.VariantAccepted)]
    assert has is (loaded is not None)
    assert (accepted[0] if accepted else None) == loaded
    assert (str(explained) if explained else None) == loaded

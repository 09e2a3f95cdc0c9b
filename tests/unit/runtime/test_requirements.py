"""What a build asks of the installation, apart from other kernels."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from kernelmill.runtime.errors import UnsupportedKernel
from kernelmill.runtime.requirements import ensure_interface, ensure_supported
from kernelmill.spec.backend import Backend
from kernelmill.spec.metadata import Metadata, Provenance, SourceState

COMMIT = "0" * 40
PLAIN = Metadata(name="my-toy", id="_toy", version=1, license="MIT", backend=Backend.CPU)


def state(*, is_dirty: bool | None, version: str | None = None) -> SourceState:
    commit = None if is_dirty is None else COMMIT
    return SourceState(version=version, commit=commit, is_dirty=is_dirty)


@pytest.mark.parametrize(
    ("needs", "installed"),
    [
        pytest.param("0.17.0", "0.17.0", id="equal"),
        pytest.param("0.17.0", "0.17.0.dev0", id="development"),
        pytest.param("0.17.0", "0.17.0rc1", id="candidate"),
        pytest.param("0.17.0", "0.17", id="two-numbers"),
        pytest.param("0.9.0", "0.10.0", id="no-text-order"),
        pytest.param("9.0.0", "main-2026", id="no-version"),
        pytest.param(None, "0.1.0", id="nothing-needed"),
    ],
)
def test_interface_is_new_enough(needs: str | None, installed: str) -> None:
    ensure_interface(replace(PLAIN, kernels_minver=needs), installed, variant="torch-cpu")


@pytest.mark.parametrize("installed", ["0.16.9", "0.17.0.dev0", "0.9.0"])
def test_interface_is_too_old(installed: str) -> None:
    with pytest.raises(
        UnsupportedKernel,
        match=rf"Kernel 'my-toy' variant 'torch-cpu' requires kernels>=0.17.1, but version "
        rf"{installed} is installed.",
    ) as caught:
        ensure_interface(replace(PLAIN, kernels_minver="0.17.1"), installed, variant="torch-cpu")
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize(
    ("kernel", "builder", "named"),
    [
        pytest.param(True, False, "kernel source", id="kernel"),
        pytest.param(False, True, "kernel-builder", id="builder"),
        pytest.param(True, True, "kernel source, kernel-builder", id="both"),
        pytest.param(None, None, "", id="unknown"),
        pytest.param(False, False, "", id="clean"),
    ],
)
def test_dirty_build_is_named(
    caplog: pytest.LogCaptureFixture,
    kernel: bool | None,
    builder: bool | None,
    named: str,
) -> None:
    caplog.set_level(logging.WARNING)
    provenance = Provenance(
        kernel=state(is_dirty=kernel), kernel_builder=state(is_dirty=builder, version="0.17.0")
    )
    ensure_supported(replace(PLAIN, provenance=provenance), variant="torch-cpu")
    assert [it.split(". ")[0] for it in caplog.messages] == (
        [
            f"Kernel 'my-toy' variant 'torch-cpu' was built from a dirty git tree ({named} had "
            "uncommitted changes)"
        ]
        if named
        else []
    )

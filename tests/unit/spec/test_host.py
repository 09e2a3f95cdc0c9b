"""Choosing a backend by name."""

from __future__ import annotations

import pytest

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidBackend
from kernelmill.spec.host import Device, Host

ROCM_HOST = Host(
    cpu="x86_64",
    os="linux",
    backend=Backend.ROCM,
    backend_version=(7, 1),
    devices=(Device(arch="gfx942"),),
    python=(3, 11),
)


def test_host_stays_when_asked_for_what_it_has() -> None:
    assert ROCM_HOST.with_backend(Backend.ROCM) == ROCM_HOST


def test_host_forgets_its_accelerator_when_asked_for_cpu() -> None:
    host = ROCM_HOST.with_backend(Backend.CPU)
    assert (host.backend, host.backend_version, host.devices) == (Backend.CPU, None, ())
    assert host.cpu == "x86_64"


@pytest.mark.parametrize(
    ("host", "supported"),
    [(ROCM_HOST, "cpu, rocm"), (ROCM_HOST.with_backend(Backend.CPU), "cpu")],
    ids=["rocm", "cpu"],
)
def test_host_refuses_a_backend_it_lacks(host: Host, supported: str) -> None:
    # V12
    with pytest.raises(InvalidBackend) as caught:
        host.with_backend(Backend.CUDA)
    assert caught.value.problem == (
        f"Invalid backend 'cuda', system supported backends: {supported}"
    )
    assert isinstance(caught.value, ValueError)

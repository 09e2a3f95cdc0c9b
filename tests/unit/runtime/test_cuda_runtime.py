"""CUDA without PyTorch: the runtime's own library tells its version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kernelmill.runtime import cuda_runtime, probe
from kernelmill.runtime.cuda_runtime import read_cuda_version
from kernelmill.spec.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Callable


class Library:
    """Answers as ``libcudart`` does."""

    def __init__(self, version: int, status: int = 0) -> None:
        self._version = version
        self._status = status

    def cudaRuntimeGetVersion(self, number: Any) -> int:  # noqa: ANN401, N802 - CUDA's name
        number._obj.value = self._version
        return self._status


def opener(**libraries: object) -> Callable[[str], object]:
    def open_library(name: str) -> object:
        key = name.replace(".", "_")
        if key not in libraries:
            raise OSError(f"{name}: cannot open shared object file")
        return libraries[key]

    return open_library


@pytest.mark.parametrize(
    ("libraries", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"libcudart_so": Library(12080)}, (12, 8), id="toolkit"),
        pytest.param({"libcudart_so_12": Library(12090)}, (12, 9), id="release"),
        pytest.param({"libcudart_so_11_0": Library(11080)}, (11, 8), id="old-name"),
        pytest.param(
            {"libcudart_so_13": Library(13000), "libcudart_so_12": Library(12080)},
            (13, 0),
            id="newest-first",
        ),
        pytest.param(
            {"libcudart_so": object(), "libcudart_so_12": Library(12100)}, (12, 10), id="decoy"
        ),
        pytest.param({"libcudart_so": Library(12080, status=35)}, None, id="fails"),
    ],
)
def test_version_is_that_of_the_first_library_that_tells(
    libraries: dict[str, object], expected: tuple[int, int] | None
) -> None:
    assert read_cuda_version(opener(**libraries)) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [((12, 8), (Backend.CUDA, (12, 8))), (None, (Backend.CPU, None))],
)
def test_host_without_torch_has_the_backend_of_the_runtime(
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, int] | None,
    expected: tuple[Backend, tuple[int, int] | None],
) -> None:
    monkeypatch.setattr(probe, "import_torch", lambda: None)
    monkeypatch.setattr(cuda_runtime, "read_cuda_version", lambda: version)
    probe.probe_host.cache_clear()
    try:
        host = probe.probe_host()
    finally:
        probe.probe_host.cache_clear()
    assert (host.backend, host.backend_version, host.torch) == (*expected, None)

"""The facts about this machine and its Python. Only this module of the package imports torch."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import os
import platform
import re
import sys
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import MissingDependency
from kernelmill.spec.backend import Backend, normalise_gfx
from kernelmill.spec.errors import HostError, InvalidName, InvalidVersion
from kernelmill.spec.host import Device, Host
from kernelmill.spec.version import Release, parse_release

if TYPE_CHECKING:
    from types import ModuleType

log = logging.getLogger(__name__)

CPUS: Final = {"amd64": "x86_64", "arm64": "aarch64"}
XPU_RELEASE: Final = re.compile(r"(?P<year>[0-9]{4})0(?P<release>[0-9])")
"""The head of a SYCL compiler's version, such as ``20250301``."""
SYSTEMS: Final = {"linux": "linux", "darwin": "darwin", "win32": "windows"}


@functools.cache
def probe_host() -> Host:
    """Return the facts that choosing a build needs. Imports torch; touches no device.

    Raises:
        HostError: torch is installed but broken, or its version cannot be read.
    """
    torch = import_torch()
    backend, backend_version = backend_of(torch) if torch else _backend_without_torch()
    return Host(
        cpu=probe_cpu(),
        os=SYSTEMS.get(sys.platform, sys.platform),
        backend=backend,
        backend_version=backend_version,
        torch=release_of(torch) if torch else None,
        cxx11_abi=cxx11_abi_of(torch) if torch else None,
        tvm_ffi=_probe_tvm_ffi(),
        glibc=probe_glibc(),
        is_free_threaded="t" in getattr(sys, "abiflags", ""),
        python=sys.version_info[:2],
        macos=_probe_macos(),
    )


def probe_cpu() -> str:
    """Return the processor, as variants write it."""
    machine = platform.machine().lower()
    return CPUS.get(machine, machine)


def import_torch() -> ModuleType | None:
    """Return torch; None when it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    try:
        import torch  # noqa: PLC0415 - `import kernels` must not import torch
    except (ImportError, OSError) as error:
        raise HostError(
            f"torch is installed but cannot be imported: {error}",
            hint='run `python -c "import torch"` and repair the installation',
        ) from error
    return torch


def has_package(name: str) -> bool:
    """Tell whether ``name`` could be imported. Imports nothing."""
    return importlib.util.find_spec(name) is not None


def require_torch() -> ModuleType:
    """Return torch.

    Raises:
        MissingDependency: it is not installed; an ``ImportError``.
    """
    torch = import_torch()
    if torch is None:
        raise MissingDependency("torch is not installed", hint="install PyTorch: pytorch.org")
    return torch


def release_of(torch: ModuleType) -> Release:
    """Return torch's version."""
    return parse_release(str(torch.__version__), what="torch")


def cxx11_abi_of(torch: ModuleType) -> bool | None:
    """Return which C++ string ABI torch was compiled with; None where there is only one."""
    compiled_with = getattr(torch, "compiled_with_cxx11_abi", None)
    if sys.platform != "linux" or compiled_with is None:
        return None
    return bool(compiled_with())


def backend_of(torch: ModuleType) -> tuple[Backend, tuple[int, int] | None]:
    """Return what torch was built for, in the order of Hugging Face's ``kernels``.

    A missing attribute means "not this backend": torch has gained them over the years.
    """
    version = getattr(torch, "version", None)
    backends = getattr(torch, "backends", None)
    mps = getattr(backends, "mps", None)
    found: tuple[tuple[Backend, str | bool | None], ...] = (
        (Backend.TPU, hasattr(backends, "tpu")),
        (Backend.NEURON, hasattr(torch, "neuron")),
        (Backend.CUDA, getattr(version, "cuda", None)),
        (Backend.ROCM, getattr(version, "hip", None)),
        (Backend.METAL, mps is not None and mps.is_available()),
        (Backend.XPU, getattr(version, "xpu", None)),
        (Backend.CANN, _cann_version(torch)),
    )
    for backend, answer in found:
        if isinstance(answer, str) and answer:
            return backend, _runtime_version(backend, answer)
        if answer:
            return backend, None
    return Backend.CPU, None


def _backend_without_torch() -> tuple[Backend, tuple[int, int] | None]:
    from kernelmill.runtime.cuda_runtime import read_cuda_version  # noqa: PLC0415 - only here

    version = read_cuda_version()
    return (Backend.CUDA, version) if version else (Backend.CPU, None)


def _cann_version(torch: ModuleType) -> str | None:
    """Return the version of Huawei's CANN where its plug-in gave torch an NPU."""
    name_of_device = getattr(getattr(torch, "_C", None), "_get_privateuse1_backend_name", None)
    if name_of_device is None or name_of_device() != "npu":
        return None
    try:
        facts = importlib.import_module("torch_npu.utils.collect_env")
    except ImportError:
        return None
    return str(facts.get_cann_version())


def _runtime_version(backend: Backend, text: str) -> tuple[int, int]:
    if backend is Backend.XPU and (match := XPU_RELEASE.match(text)):
        return int(match["year"]), int(match["release"])
    return _major_minor(text, backend.value)


def probe_devices(backend: Backend) -> tuple[Device, ...]:
    """Return the accelerators that torch sees.

    NOTE: this starts the GPU runtime in this process, which then can no longer be forked: ask only
    when the answer is needed.
    """
    torch = import_torch()
    if torch is None or backend not in {Backend.CUDA, Backend.ROCM}:
        return ()
    if not torch.cuda.is_available():
        return ()
    properties = [
        torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())
    ]
    return tuple(device_of(each, backend) for each in properties)


def device_of(properties: object, backend: Backend) -> Device:
    """Return one device from what torch says of it."""
    if backend is Backend.CUDA:
        capability = (getattr(properties, "major", 0), getattr(properties, "minor", 0))
        return Device(arch="{}.{}".format(*capability))
    text = str(getattr(properties, "gcnArchName", ""))
    try:
        return Device(arch=normalise_gfx(text))
    except InvalidName as error:
        # An unknown device fits no kernel's list, which then says so: better than failing here.
        log.warning("%s", error)
        return Device(arch=text)


def _major_minor(text: str, what: str) -> tuple[int, int]:
    release = parse_release(text, what=what)
    return release.major, release.minor


def _probe_tvm_ffi() -> tuple[int, int] | None:
    import importlib.metadata  # noqa: PLC0415 - brings a parser of e-mail with it

    try:
        found = importlib.metadata.distribution("apache-tvm-ffi")
    except importlib.metadata.PackageNotFoundError:
        return None
    # That parser takes longer than all else here, for the description is a page.
    head = (found.read_text("METADATA") or "").partition("\n\n")[0]
    line = re.search(r"^Version: *(\S+)", head, re.MULTILINE)
    return _major_minor(line[1] if line else found.version, "apache-tvm-ffi")


def probe_glibc() -> tuple[int, int] | None:
    """Return the C library's version; None for another one than glibc."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return None
    try:
        return _major_minor(text.removeprefix("glibc "), "glibc")
    except InvalidVersion:
        return None


def _probe_macos() -> tuple[int, int] | None:
    text = platform.mac_ver()[0]
    return _major_minor(text, "macOS") if text else None

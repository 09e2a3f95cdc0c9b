"""Reads edition 5 of ``build.toml``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import KernelDependency, kernel_dependency
from kernelmill.spec.editions.model import (
    BackendGeneral,
    CudaGeneral,
    Framework,
    General,
    HubTarget,
    Kernel,
    Manifest,
    Torch,
    TorchNoarch,
    TvmFfi,
)
from kernelmill.spec.editions.values import (
    capability,
    extension,
    filled,
    flags,
    gfx,
    git_url,
    path,
    python_depend,
)
from kernelmill.spec.names import KernelName, RepoId
from kernelmill.spec.reader import (
    Convert,
    Faults,
    Place,
    Table,
    choice,
    each,
    natural,
    or_null,
    parsed,
    table,
    text,
)
from kernelmill.spec.version import parse_major_minor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EDITION: Final = 5

LIBRARIES: Final = (
    "torch",
    "cutlass_2_10",
    "cutlass_3_5",
    "cutlass_3_6",
    "cutlass_3_8",
    "cutlass_3_9",
    "cutlass_4_0",
    "cutlass_4_4",
    "cutlass_4_5",
    "sycl_tla",
    "metal-cpp",
)
"""What ``depends`` of a kernel may name."""

_KERNEL_BACKENDS: Final = (
    Backend.CPU,
    Backend.CUDA,
    Backend.METAL,
    Backend.ROCM,
    Backend.XPU,
)
_BACKEND_KEYS: Final[Mapping[Backend, tuple[str, ...]]] = {
    Backend.CUDA: ("cuda-capabilities", "cuda-flags", "cuda-minver"),
    Backend.ROCM: ("rocm-archs", "hip-flags"),
    Backend.XPU: ("sycl-flags",),
}
_KERNEL_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")

_BACKEND: Final = choice("backend", tuple(Backend))
_VERSION: Final[Convert[tuple[int, int] | None]] = parsed(parse_major_minor)


def read(root: Table) -> Manifest:
    """Read the whole document; mistakes are in the table's ``Faults`` afterwards."""
    nothing = Table({}, Place(path=(), faults=Faults(file="", lines={})))
    general = _general(root.required("general", table, stand_in=nothing))
    framework = _framework(root, general)
    kernels = _kernels(root, general, framework)
    root.reject_unknown()
    return Manifest(edition=EDITION, general=general, framework=framework, kernels=kernels)


def _general(item: Table) -> General:
    item.optional("edition", natural, default=EDITION)
    general = General(
        name=item.required("name", parsed(KernelName.parse), stand_in=KernelName(value="")),
        version=item.required("version", natural, stand_in=0, hint="add version = 1"),
        license=item.required("license", text, stand_in="", hint='add license = "Apache-2.0"'),
        upstream=item.optional("upstream", or_null(git_url), default=None),
        source=item.optional("source", or_null(git_url), default=None),
        backends=item.required(
            "backends", filled(each(_BACKEND)), stand_in=(), hint=_BACKENDS_HINT
        ),
        python_depends=item.optional("python-depends", each(python_depend(None)), default=()),
        kernel_depends=_kernel_depends(item),
        hub=_hub(item.table("hub")),
        cuda=_cuda(item.table("cuda")),
        neuron=_backend(item.table("neuron"), Backend.NEURON),
        tpu=_backend(item.table("tpu"), Backend.TPU),
        xpu=_backend(item.table("xpu"), Backend.XPU),
    )
    item.reject_unknown()
    return general


_BACKENDS_HINT: Final = f"list what to build for: {', '.join(Backend)}"


def _hub(item: Table | None) -> HubTarget:
    if item is None:
        return HubTarget()
    target = HubTarget(
        repo_id=item.optional("repo-id", parsed(RepoId.parse), default=None),
        branch=item.optional("branch", text, default=None),
    )
    item.reject_unknown()
    return target


def _cuda(item: Table | None) -> CudaGeneral | None:
    if item is None:
        return None
    minver, maxver = _version_range(item)
    cuda = CudaGeneral(
        minver=minver,
        maxver=maxver,
        python_depends=item.optional(
            "python-depends", each(python_depend(Backend.CUDA)), default=()
        ),
        kernel_depends=_kernel_depends(item),
    )
    item.reject_unknown()
    return cuda


def _backend(item: Table | None, backend: Backend) -> BackendGeneral | None:
    if item is None:
        return None
    general = BackendGeneral(
        python_depends=item.optional("python-depends", each(python_depend(backend)), default=()),
        kernel_depends=() if backend == Backend.TPU else _kernel_depends(item),
    )
    item.reject_unknown()
    return general


def _framework(root: Table, general: General) -> Framework:
    readers: dict[str, Callable[[Table, General], Framework]] = {
        "torch": _torch,
        "torch-noarch": _torch_noarch,
        "tvm-ffi": _tvm_ffi,
    }
    found = {name: item for name in readers if (item := root.table(name)) is not None}
    names = [name for name in readers if name in root]
    if len(names) != 1:
        have = " and ".join(f"[{name}]" for name in names) or "none"
        place = root.place.item(names[1]) if names else root.place
        hint = "keep one of [torch], [torch-noarch] and [tvm-ffi]"
        place.faults.add(place.path, f"exactly one framework table is needed, found {have}", hint)
    frameworks = [readers[name](item, general) for name, item in found.items()]
    return frameworks[0] if frameworks else TorchNoarch()


def _torch(item: Table, general: General) -> Torch:
    minver, maxver = _version_range(item)
    torch = Torch(
        include=_include(item),
        minver=minver,
        maxver=maxver,
        pyext=_pyext(item),
        src=_binding_src(item),
        stable_abi=item.optional("stable-abi", _stable_abi(general), default={}),
        cxx_flags=item.optional("cxx-flags", flags, default=()),
    )
    item.reject_unknown()
    return torch


def _torch_noarch(item: Table, _general: General) -> TorchNoarch:
    noarch = TorchNoarch(
        pyext=_pyext(item),
        cuda_capabilities=item.optional("cuda_capabilities", each(capability), default=()),
        rocm_archs=item.optional("rocm_archs", each(gfx), default=()),
    )
    item.reject_unknown(
        {
            "src": "Python-only kernels list no sources; use [torch] for compiled ones",
            "cuda-capabilities": "write cuda_capabilities here, with an underscore",
            "rocm-archs": "write rocm_archs here, with an underscore",
        }
    )
    return noarch


def _tvm_ffi(item: Table, _general: General) -> TvmFfi:
    tvm_ffi = TvmFfi(
        include=_include(item),
        pyext=_pyext(item),
        src=_binding_src(item),
        cxx_flags=item.optional("cxx-flags", flags, default=()),
    )
    item.reject_unknown()
    return tvm_ffi


def _binding_src(item: Table) -> tuple[str, ...]:
    hint = "list the binding's sources, or use [torch-noarch] for Python only"
    return item.required("src", filled(each(path)), stand_in=(), hint=hint)


def _stable_abi(general: General) -> Convert[Mapping[Backend, tuple[int, int]]]:
    def read_map(value: object, place: Place) -> Mapping[Backend, tuple[int, int]]:
        if isinstance(value, str):
            return dict.fromkeys(general.backends, parse_major_minor(value, where=str(place)))
        item = table(value, place)
        versions: dict[Backend, tuple[int, int]] = {}
        for backend in Backend:
            if version := item.optional(backend.value, _VERSION, default=None):
                versions[backend] = version
                _require_backend(backend, general, place.item(backend.value))
        item.reject_unknown()
        return versions

    return read_map


def _kernels(root: Table, general: General, framework: Framework) -> tuple[Kernel, ...]:
    kernels = root.table("kernel")
    if kernels is None:
        return ()
    if isinstance(framework, TorchNoarch) and "torch-noarch" in root:
        hint = "remove it, or use [torch] for compiled kernels"
        kernels.place.faults.add(kernels.place.path, "[torch-noarch] compiles nothing", hint)
    tables = ((name, kernels.table(name)) for name in kernels)
    return tuple(_kernel(name, item, general) for name, item in tables if item is not None)


def _kernel(name: str, item: Table, general: General) -> Kernel:
    if not _KERNEL_NAME.fullmatch(name):
        hint = "use letters, digits, dashes and underscores"
        item.place.faults.add(item.place.path, f"invalid kernel table name {name!r}", hint)
    hint = f"add one of {', '.join(_KERNEL_BACKENDS)}"
    backend = item.required("backend", _kernel_backend, stand_in=None, hint=hint)
    if backend:
        _require_backend(backend, general, item.place.item("backend"))
    kernel = Kernel(
        name=name,
        backend=backend or Backend.CPU,
        depends=item.required(
            "depends",
            each(choice("library", LIBRARIES)),
            stand_in=(),
            hint='add depends = ["torch"]',
        ),
        src=item.required("src", filled(each(path)), stand_in=(), hint="list its sources"),
        include=_include(item),
        cxx_flags=item.optional("cxx-flags", flags, default=()),
    )
    # With an unknown backend all its keys may be right: only the others are reported.
    readers = _BACKEND_READERS.values() if backend is None else [_BACKEND_READERS.get(backend)]
    for read_keys in filter(None, readers):
        kernel = read_keys(kernel, item)
    item.reject_unknown(_foreign_keys(backend))
    return kernel


def _cuda_kernel(kernel: Kernel, item: Table) -> Kernel:
    return replace(
        kernel,
        cuda_capabilities=item.optional("cuda-capabilities", filled(each(capability)), default=()),
        cuda_flags=item.optional("cuda-flags", flags, default=()),
        cuda_minver=item.optional("cuda-minver", _VERSION, default=None),
    )


def _rocm_kernel(kernel: Kernel, item: Table) -> Kernel:
    return replace(
        kernel,
        rocm_archs=item.optional("rocm-archs", filled(each(gfx)), default=()),
        hip_flags=item.optional("hip-flags", flags, default=()),
    )


def _xpu_kernel(kernel: Kernel, item: Table) -> Kernel:
    return replace(kernel, sycl_flags=item.optional("sycl-flags", flags, default=()))


_BACKEND_READERS: Final[Mapping[Backend, Callable[[Kernel, Table], Kernel]]] = {
    Backend.CUDA: _cuda_kernel,
    Backend.ROCM: _rocm_kernel,
    Backend.XPU: _xpu_kernel,
}


def _foreign_keys(backend: Backend | None) -> dict[str, str]:
    """Return, for each key of another backend, the hint that says so."""
    return {
        key: f"{key} belongs to kernels with backend = {owner.value!r}"
        for owner, keys in _BACKEND_KEYS.items()
        if owner != backend
        for key in keys
    }


def _kernel_backend(value: object, place: Place) -> Backend | None:
    backend = _BACKEND(value, place)
    if backend not in _KERNEL_BACKENDS:
        hint = f"allowed: {', '.join(_KERNEL_BACKENDS)}"
        raise place.fail(f"no kernels are compiled for {backend.value!r}", hint)
    return backend


def _require_backend(backend: Backend, general: General, place: Place) -> None:
    # Without any valid backend that mistake is reported already.
    if general.backends and backend not in general.backends:
        hint = f'add "{backend}" to backends in [general], or remove this'
        place.faults.add(place.path, f"backend {backend.value!r} is not in general.backends", hint)


def _version_range(item: Table) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    minver = item.optional("minver", _VERSION, default=None)
    maxver = item.optional("maxver", _VERSION, default=None)
    if minver and maxver and minver > maxver:
        place = item.place.item("minver")
        place.faults.add(place.path, "minver is above maxver", "swap them, or drop one")
    return minver, maxver


def _kernel_depends(item: Table) -> tuple[KernelDependency, ...]:
    # Two versions of one kernel would be two answers to one get_kernel_dep().
    depends = each(kernel_dependency, key=lambda it: it.repo_id)
    return item.optional("kernel-depends", depends, default=())


def _include(item: Table) -> tuple[str, ...]:
    return item.optional("include", each(path), default=())


def _pyext(item: Table) -> tuple[str, ...]:
    return item.optional("pyext", each(extension), default=())

"""What one build is: which sources become which variant, with which flags. Pure values."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from kernelmill.builder.check.stable_abi import check_stable_headers
from kernelmill.builder.errors import PlanError
from kernelmill.builder.jobs import job_count
from kernelmill.builder.matrix import dotted
from kernelmill.builder.sources import (
    HEADER_SUFFIXES,
    compiled_table,
    files_of,
    framework_key,
    shipped_suffixes,
    torch_table,
)
from kernelmill.builder.toolchain import require, require_torch
from kernelmill.builder.toolchain.tvm_ffi import require_tvm_ffi
from kernelmill.spec.archs import CAPABILITY
from kernelmill.spec.manifest import Torch, TvmFfi
from kernelmill.spec.values import dataclass
from kernelmill.spec.variant import ArchVariant, Framework

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.builder.sdk.store import Sdk
    from kernelmill.builder.sources import KernelTree
    from kernelmill.builder.toolchain import Toolchain
    from kernelmill.builder.toolchain.torch import TorchTarget
    from kernelmill.spec.backend import Backend
    from kernelmill.spec.manifest import Kernel, Manifest
    from kernelmill.spec.toml_lines import KeyPath
    from kernelmill.spec.variant import Compute, Variant

_PYTHON = frozenset({".py", ".pyi"})
CXX_SUFFIXES = frozenset({".c", ".cc", ".cpp", ".cxx"})

UNIQUE_ID_DIGITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Sources that are compiled with the same flags."""

    name: str
    sources: tuple[str, ...]
    """Files for the C++ compiler, relative to the kernel's folder."""
    device_sources: tuple[str, ...] = ()
    """Files for the device compiler."""
    include: tuple[str, ...] = ()
    cxx_flags: tuple[str, ...] = ()
    device_flags: tuple[str, ...] = ()
    archs: tuple[str, ...] = ()
    """The device architectures of ``device_sources``, exactly as they were asked for."""
    defines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """One variant: everything that decides its bytes, and how many compilers may run at once."""

    manifest: Manifest
    backend: Backend
    variant: ArchVariant
    unique_id: str
    binding: Component
    kernels: tuple[Component, ...]
    pyext: tuple[str, ...]
    settings: Mapping[str, str]
    """Variables of the generated project that belong to the backend."""
    torch: TorchTarget | None
    """What is compiled against; None for a kernel of TVM FFI."""
    abi_stubs: Sdk | None
    """What is linked in place of this machine's C and C++ libraries."""
    archs: tuple[str, ...] | None
    """Every device architecture in the binary; None where the backend has none."""
    runtime_soname: str
    """The GPU runtime that the binary needs, for example ``libamdhip64.so.7``; may be empty."""
    is_cross: bool
    """Whether the binary is for a torch or a runtime that is not the installed one."""
    jobs: int
    depends: tuple[str, ...] = ()
    """Libraries that the kernels are compiled against, besides the framework."""
    translated: tuple[str, ...] = ()
    """CUDA sources, and whatever else names them, that are translated for this backend first."""

    @property
    def include(self) -> tuple[str, ...]:
        """The include folders of all components, each once."""
        components = (self.binding, *self.kernels)
        return tuple(dict.fromkeys(path for it in components for path in it.include))

    @property
    def device_source_count(self) -> int:
        """How many files the device compiler takes."""
        return sum(len(it.device_sources) for it in self.kernels)

    @property
    def framework_version(self) -> tuple[int, int]:
        """Major and minor of the torch, or TVM FFI, that is compiled against."""
        return self.torch.release.series if self.torch else self.variant.framework.version

    @property
    def against(self) -> str:
        """What is compiled against, in words."""
        return str(self.torch) if self.torch else f"TVM FFI {dotted(self.framework_version)}"

    @property
    def is_installed(self) -> bool:
        """Whether a build can be loaded with the torch, or TVM FFI, that is installed here."""
        return self.torch is None or self.torch.is_installed

    @property
    def inputs(self) -> dict[str, str]:
        """Name -> sha256 of everything from SDKs."""
        torch, stubs = self.torch, self.abi_stubs
        return {**(torch.inputs if torch else {}), **(stubs.inputs if stubs else {})}

    @property
    def python_name(self) -> str:
        """The kernel's name as a Python identifier."""
        return self.manifest.general.name.python_name

    @property
    def ops_name(self) -> str:
        """The operators' namespace, the extension's module name and the metadata's id."""
        return ops_name(self.manifest, self.backend, self.unique_id)


def ops_name(manifest: Manifest, backend: str, identity: str) -> str:
    """Return the name that a build with the id ``identity`` has in PyTorch and in Python."""
    return f"_{manifest.general.name.python_name}_{backend}_{identity}"


def unique_id(
    files: Mapping[str, str], *, manifest_sha256: str, backend: str, variant: Variant
) -> str:
    """Return an id that is equal for equal inputs, and different for any other.

    Args:
        files: path -> sha256 of every file that the build reads.
        manifest_sha256: that of ``build.toml``.
        backend: what is built for.
        variant: names the framework and its version, and the backend's version.
    """
    lines = [f"{path}\0{files[path]}" for path in sorted(files)]
    lines += [f"build.toml\0{manifest_sha256}", str(backend), str(variant)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:UNIQUE_ID_DIGITS]


class BackendRules(Protocol):
    """What a backend's module says. Every module of ``backends`` is one."""

    BACKEND: Backend
    DEFINES: tuple[str, ...]
    """Preprocessor definitions of every source, host and device."""
    DEVICE_SUFFIXES: frozenset[str]
    """Sources for the device compiler."""
    ARCHS_KEY: str
    """What ``build.toml`` calls a kernel's architectures."""

    def installed_version(self, toolchain: Toolchain, /) -> tuple[int, int] | None:
        """Return the version of the backend's SDK on this machine: builds are for it by default."""

    def is_cross(self, toolchain: Toolchain, archs: tuple[str, ...], compute: Compute, /) -> bool:
        """Return whether a build is made without the SDK that it is for."""

    def translated(
        self, kernels: tuple[Kernel, ...], binding: tuple[str, ...], /
    ) -> tuple[str, ...]:
        """Return the sources that have to be translated; all of a build's, or nothing."""

    def compute(self, asked: tuple[int, int] | None, /) -> Compute:
        """Return the compute part of the variant, for the runtime version that was asked for."""

    def settings(self, compute: Compute, /) -> Mapping[str, str]:
        """Return the variables that the backend's part of a generated project reads."""

    def runtime_soname(self, compute: Compute, /) -> str:
        """Return the GPU runtime that a binary needs, or nothing."""

    def require_tools(self, toolchain: Toolchain, /) -> None:
        """Raise ``HostError`` when this machine cannot build for this backend."""

    def tool_settings(self, plan: BuildPlan, toolchain: Toolchain, /) -> Mapping[str, str]:
        """Return the CMake variables that say which of this machine's tools to use for ``plan``.

        Raises:
            HostError: there is none.
            InputError: none that works can target all of its architectures.
        """

    def device_flags(self, kernel: Kernel, /) -> tuple[str, ...]:
        """Return the manifest's flags for the device compiler."""

    def choose_kernels(
        self, tree: KernelTree, kernels: tuple[Kernel, ...], compute: Compute, /
    ) -> tuple[Kernel, ...]:
        """Return those of ``kernels`` that are compiled for this version of the backend.

        Raises:
            PlanError: none is, or the manifest does not want this version.
        """

    def require_ready(self, plan: BuildPlan, tree: KernelTree, toolchain: Toolchain, /) -> None:
        """Raise ``HostError`` or ``InputError`` when this machine cannot do what ``plan`` says.

        A plan alone is enough for a generated project, which may be built elsewhere.
        """

    def inputs(self, plan: BuildPlan, toolchain: Toolchain, /) -> Mapping[str, str]:
        """Return name -> sha256 of the SDKs among the device compiler's files."""

    def pick_archs(
        self, kernel: Kernel, toolchain: Toolchain, compute: Compute, where: str, /
    ) -> tuple[str, ...]:
        """Return the device architectures of one kernel; ``where`` is their place.

        Raises:
            PlanError: none is named, or the compiler cannot target one.
        """


def compiled_id(tree: KernelTree, backend: Backend, variant: Variant) -> str:
    """Return the ``unique_id`` of what is compiled of ``tree`` for ``backend``."""
    return unique_id(
        files_of(tree, backend),
        manifest_sha256=tree.manifest_sha256,
        backend=backend,
        variant=variant,
    )


def plan_build(
    tree: KernelTree,
    toolchain: Toolchain,
    rules: BackendRules,
    *,
    asked_version: tuple[int, int] | None = None,
    target: TorchTarget | None = None,
    abi_stubs: Sdk | None = None,
) -> BuildPlan:
    """Decide everything about one build.

    Args:
        tree: the kernel's sources.
        toolchain: what builds it.
        rules: of the backend to build for.
        asked_version: of the backend's runtime; None for the usual one.
        target: the torch to compile against; None for the installed one.
        abi_stubs: what to link in place of this machine's C and C++ libraries, if anything.

    Raises:
        PlanError: the kernel is not for this backend or this torch, or a source cannot be compiled.
        HostError: this machine cannot build for this backend.
    """
    backend = rules.BACKEND
    require(toolchain.cxx)
    rules.require_tools(toolchain)
    kernels = kernels_for(tree, backend)
    bound = compiled_table(tree.manifest)
    torch = (target or require_torch(toolchain)) if isinstance(bound, Torch) else None
    _check_suffixes(tree, kernels, rules)
    require_stable_headers(tree, backend)
    variant = plan_variant(tree, toolchain, rules, target=torch, asked_version=asked_version)
    kernels = rules.choose_kernels(tree, kernels, variant.compute)
    components = tuple(
        _component(it, bound, rules, _archs_of(it, tree, toolchain, rules, variant.compute))
        for it in kernels
    )
    binding = _binding(bound, rules)
    archs = tuple(sorted({arch for it in components for arch in it.archs}, key=_rank_of_arch))
    return BuildPlan(
        manifest=tree.manifest,
        backend=backend,
        variant=variant,
        unique_id=compiled_id(tree, backend, variant),
        binding=binding,
        kernels=components,
        pyext=shipped_suffixes(tree.manifest),
        settings=rules.settings(variant.compute),
        torch=torch,
        abi_stubs=abi_stubs,
        archs=archs or None,
        runtime_soname=rules.runtime_soname(variant.compute),
        is_cross=rules.is_cross(toolchain, archs, variant.compute)
        or not (torch is None or torch.is_installed),
        jobs=job_count(toolchain.capacity),
        depends=tuple(sorted({name for it in kernels for name in it.depends} - {"torch"})),
        translated=rules.translated(kernels, bound.src),
    )


def _archs_of(
    kernel: Kernel,
    tree: KernelTree,
    toolchain: Toolchain,
    rules: BackendRules,
    compute: Compute,
) -> tuple[str, ...]:
    """Return the device architectures of a kernel: none when nothing of it is device code."""
    if not _device_sources(kernel, rules):
        return ()
    where = tree.where("kernel", kernel.name, rules.ARCHS_KEY)
    return rules.pick_archs(kernel, toolchain, compute, where)


def plan_variant(
    tree: KernelTree,
    toolchain: Toolchain,
    rules: BackendRules,
    *,
    target: TorchTarget | None,
    asked_version: tuple[int, int] | None = None,
) -> ArchVariant:
    """Return the variant that a build against ``target`` is; that is None for TVM FFI alone.

    Raises:
        PlanError: the kernel does not want this torch.
        ToolchainError: it wants TVM FFI, which is not installed.
    """
    return ArchVariant(
        framework=_torch_framework(tree, rules, target) if target else _tvm_ffi(toolchain),
        compute=rules.compute(asked_version or rules.installed_version(toolchain)),
        cpu=toolchain.cpu,
        os="linux",
    )


def _tvm_ffi(toolchain: Toolchain) -> Framework:
    version = require_tvm_ffi(toolchain.tvm_ffi).version
    return Framework(kind="tvm-ffi", version=version, cxx11_abi=None)


def _torch_framework(tree: KernelTree, rules: BackendRules, target: TorchTarget) -> Framework:
    torch, version = torch_table(tree.manifest), target.release.series
    stable = torch.stable_abi.get(rules.BACKEND)
    for key, bound, fits, word in (
        ("minver", torch.minver, version >= (torch.minver or version), "from"),
        ("maxver", torch.maxver, version <= (torch.maxver or version), "up to"),
        ("stable-abi", stable, version >= (stable or version), "from"),
    ):
        if bound and not fits:
            raise PlanError(
                f"the kernel wants torch {word} {dotted(bound)}, "
                f"but {target.release} is {target.role}",
                where=tree.where("torch", key),
                hint="install a torch that fits, or name a variant: `kernel-builder list-variants`",
            )
    if stable:
        return Framework(kind="torch-stable-abi", version=stable, cxx11_abi=None)
    return Framework(kind="torch", version=version, cxx11_abi=target.has_cxx11_abi)


def kernels_for(tree: KernelTree, backend: Backend) -> tuple[Kernel, ...]:
    """Return the kernels of ``backend``.

    Raises:
        PlanError: there are none.
    """
    backends = tree.manifest.general.backends
    if backend not in backends:
        raise PlanError(
            f"the kernel is not for {backend}",
            where=tree.where("general", "backends"),
            hint=f"build it for {', '.join(backends)}, or add {backend} to the list",
        )
    kernels = tree.manifest.kernels_for(backend)
    if not kernels:
        raise PlanError(
            f"the kernel lists {backend}, but no [kernel.NAME] has backend = {str(backend)!r}",
            where=tree.where("general", "backends"),
            hint=f"add one, or remove {backend} from the list",
        )
    return kernels


def _binding(torch: Torch | TvmFfi, rules: BackendRules) -> Component:
    return Component(
        name="binding",
        sources=tuple(path for path in torch.src if _suffix(path) in CXX_SUFFIXES),
        include=torch.include,
        cxx_flags=torch.cxx_flags,
        defines=(*rules.DEFINES, *_target_version(torch, rules.BACKEND)),
    )


def _target_version(bound: Torch | TvmFfi, backend: Backend) -> tuple[str, ...]:
    """Return the definition that chooses a stable ABI; every source that sees torch needs it."""
    stable = bound.stable_abi.get(backend) if isinstance(bound, Torch) else None
    return (f"TORCH_TARGET_VERSION={stable[0] << 56 | stable[1] << 48:#018x}",) if stable else ()


def _component(
    kernel: Kernel, bound: Torch | TvmFfi, rules: BackendRules, archs: tuple[str, ...]
) -> Component:
    return Component(
        name=kernel.name,
        sources=tuple(path for path in kernel.src if _suffix(path) in CXX_SUFFIXES),
        device_sources=_device_sources(kernel, rules),
        include=kernel.include,
        cxx_flags=kernel.cxx_flags,
        device_flags=rules.device_flags(kernel),
        archs=archs,
        defines=(*rules.DEFINES, *_target_version(bound, rules.BACKEND)),
    )


def _rank_of_arch(arch: str) -> tuple[float, str]:
    """Order capabilities as numbers, 9.0 before 10.0, and other names as text."""
    match = CAPABILITY.fullmatch(arch)
    return (float(f"{match['major']}.{match['minor']}") if match else 0.0), arch


def _device_sources(kernel: Kernel, rules: BackendRules) -> tuple[str, ...]:
    return tuple(path for path in kernel.src if _suffix(path) in rules.DEVICE_SUFFIXES)


def require_stable_headers(tree: KernelTree, backend: Backend) -> None:
    """Stop here when a source for the stable ABI includes a header that is none of it.

    Raises:
        PlanError: the first such include.
    """
    if findings := check_stable_sources(tree, backend):
        raise findings[0]


def check_stable_sources(tree: KernelTree, backend: Backend) -> tuple[PlanError, ...]:
    """Look for headers that a build for ``backend`` must not include, if it is a stable one."""
    framework = tree.manifest.framework
    stable = framework.stable_abi.get(backend) if isinstance(framework, Torch) else None
    if not stable:
        return ()
    paths = [it for it in files_of(tree, backend) if _suffix(it) not in _PYTHON]
    texts = {it: (tree.root / it).read_text("utf-8", errors="replace") for it in paths}
    return check_stable_headers(texts, stable)


def _check_suffixes(tree: KernelTree, kernels: tuple[Kernel, ...], rules: BackendRules) -> None:
    known = CXX_SUFFIXES | HEADER_SUFFIXES
    tables: list[tuple[KeyPath, tuple[str, ...], frozenset[str]]] = [
        ((framework_key(tree.manifest),), compiled_table(tree.manifest).src, known)
    ]
    device_too = known | rules.DEVICE_SUFFIXES
    tables += [(("kernel", kernel.name), kernel.src, device_too) for kernel in kernels]
    for key_path, paths, suffixes in tables:
        for index, path in enumerate(paths):
            if _suffix(path) not in suffixes:
                raise PlanError(
                    f"cannot compile {path!r} for {rules.BACKEND}",
                    where=tree.where(*key_path, "src", index),
                    hint=f"known endings: {' '.join(sorted(suffixes))}",
                )


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix

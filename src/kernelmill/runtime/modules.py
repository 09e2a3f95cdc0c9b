"""How a kernel becomes a Python module: from verified source, with no bytecode read or written."""

from __future__ import annotations

import sys
from functools import partial
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

from kernelmill.runtime.errors import KernelClash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import CodeType, ModuleType

    from kernelmill.runtime.integrity import Contents


class VerifiedLoader(SourceFileLoader):
    """Compiles a module from source whose digest was checked on the very bytes.

    A ``.pyc`` beside the source is neither used, since no digest covers it, nor made, since a
    kernel's folder belongs to the cache.
    """

    def __init__(self, contents: Contents, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self._contents = contents

    def get_code(self, fullname: str) -> CodeType:
        """Compile the module's source."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code

    def get_data(self, path: str) -> bytes:
        """Read a file of the kernel."""
        content = super().get_data(path)
        self._contents.verify(path, content)
        return content


class VerifiedExtensionLoader(ExtensionFileLoader):
    """Checks a compiled module's file once more, just before the dynamic linker opens it.

    NOTE: the linker reads the file itself, so whoever may write to the cache can still exchange it
    in between.
    """

    def __init__(self, contents: Contents, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self._contents = contents

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Open the module's library."""
        self._contents.verify_file(self.path)
        if sys.platform == "linux" and (complaint := _foresee(self.path)):
            raise ImportError(f"{self.path}: {complaint}", name=self.name, path=self.path)
        return super().create_module(spec)


def _foresee(path: str) -> str:
    # Only compiled kernels need these.
    from kernelmill.runtime.dlopen import foresee_file  # noqa: PLC0415
    from kernelmill.runtime.probe import probe_cpu, probe_glibc  # noqa: PLC0415

    return foresee_file(path, cpu=probe_cpu(), glibc=probe_glibc())


class KernelFinder:
    """Finds the submodules of kernels, and keeps every other finder away from them."""

    def __init__(self) -> None:
        self._contents: dict[str, Contents] = {}

    def admit(self, module_id: str, contents: Contents) -> None:
        """Let the kernel ``module_id`` import what is in ``contents``."""
        self._contents[module_id] = contents
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def dismiss(self, module_id: str) -> None:
        """Forget a kernel that could not be imported.

        NOTE: the finder stays in ``sys.meta_path``, and knows nothing: taken out while another
        thread imports something, it would make that thread skip the finder behind it.
        """
        self._contents.pop(module_id, None)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find one submodule of an admitted kernel; know nothing of other modules."""
        contents = self._contents.get(fullname.partition(".")[0])
        if path is None or contents is None:
            return None
        loaders = (
            (partial(VerifiedExtensionLoader, contents), EXTENSION_SUFFIXES),
            (partial(VerifiedLoader, contents), SOURCE_SUFFIXES),
        )
        for entry in path:
            # FileFinder calls the loader as `loader(fullname, path)`, which a partial can do.
            finder = FileFinder(entry, *loaders)  # type: ignore[arg-type]
            spec = finder.find_spec(fullname, target)
            if spec is not None:
                return spec
        # Not None: the next finder would take a lone .pyc.
        raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


FINDER = KernelFinder()

_failed: dict[str, tuple[ModuleType, ...]] = {}
"""Kernel -> what was left of it when its last import failed."""


def import_kernel(module_id: str, file: Path, contents: Contents) -> ModuleType:
    """Run a kernel's ``__init__.py`` as the module ``module_id``. A failure leaves nothing behind.

    Raises:
        KernelClash: ``module_id`` is the name of something else that can be imported.
    """
    if module_id in sys.modules or find_spec(module_id) is not None:
        raise KernelClash(
            f"the kernel's id is '{module_id}', the name of a module that is not this kernel",
            where=str(contents.folder),
            hint="rebuild the kernel, so that it gets an id of its own",
        )
    spec = spec_from_file_location(
        module_id,
        file,
        loader=VerifiedLoader(contents, module_id, str(file)),
        submodule_search_locations=[str(file.parent)],
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load a module from {file}", name=module_id, path=str(file))
    _clear_failed(module_id)
    module = module_from_spec(spec)
    FINDER.admit(module_id, contents)
    sys.modules[module_id] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _failed[module_id] = forget(module_id)
        raise
    return module


def _clear_failed(module_id: str) -> None:
    """Take back what an import of ``module_id`` that failed has registered elsewhere.

    PyTorch keeps a kernel's Python functions, those keep their module's namespace, and the
    ``Library`` object in there keeps the operators registered: a circle no collector sees. It is
    broken by emptying the namespace; not at once, for the error may still need it to be printed.
    """
    for module in _failed.pop(module_id, ()):
        vars(module).clear()


def forget(module_id: str) -> tuple[ModuleType, ...]:
    """Remove a kernel and its submodules from the interpreter, and return them."""
    FINDER.dismiss(module_id)
    names = [each for each in sys.modules if each.partition(".")[0] == module_id]
    return tuple(sys.modules.pop(name) for name in names)

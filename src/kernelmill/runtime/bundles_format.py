"""``kernels-bundle.json``: what a bundle of kernels holds, and the hash of every file of it.

::

    {"version": 1,
     "kernels": [{"repo-id": "acme/toy", "version": 1, "commit": "<40 hex>"}],
     "files": {"kernels/acme--toy/<40 hex>/build/torch-cpu/__init__.py": "<64 hex, SHA-256>"}}

Beside it lie the files, ``kernels.lock`` among them. ``revision`` stands for ``version`` where that
is what was locked.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.bundles import FILE_NAME
from kernelmill.runtime.errors import BundleError
from kernelmill.spec.errors import KernelError
from kernelmill.spec.names import RepoId
from kernelmill.spec.reader import Faults, Place, Table, each, natural, parsed, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = 1

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_NOBODY: Final = RepoId(namespace="", name="")
_REMAKE: Final = "make the bundle again: kernels export"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledKernel:
    """One kernel of a bundle, under the name it was locked by."""

    repo_id: RepoId
    version: int | None = None
    revision: str | None = None
    commit: str

    @property
    def folder(self) -> str:
        """Where its builds are, from the bundle's root. No repository id holds ``--``."""
        return f"kernels/{self.repo_id.namespace}--{self.repo_id.name}/{self.commit}/build"

    def answers(self, version: int | None, revision: str | None) -> bool:
        """Tell whether this is what a caller means by a version, a revision, or neither."""
        if version is not None:
            return version == self.version
        own = {self.revision, self.commit, None if self.version is None else f"v{self.version}"}
        return revision is None or revision in own


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A whole bundle."""

    kernels: tuple[BundledKernel, ...]
    files: Mapping[str, str]
    """Path from the bundle's root, with ``/`` -> SHA-256 in hexadecimal digits."""

    def find(
        self, repo: RepoId, *, version: int | None = None, revision: str | None = None
    ) -> BundledKernel | None:
        """Return what is meant; the newest version where the caller names nothing."""
        found = [it for it in self.kernels if it.repo_id == repo and it.answers(version, revision)]
        return max(found, key=lambda it: -1 if it.version is None else it.version, default=None)


def dumps(bundle: Bundle) -> str:
    """Write the list: sorted, two spaces, a newline at the end."""
    kernels = [
        {
            "repo-id": str(it.repo_id),
            **({"revision": it.revision} if it.version is None else {"version": it.version}),
            "commit": it.commit,
        }
        for it in sorted(bundle.kernels, key=_order)
    ]
    document = {"version": FORMAT, "kernels": kernels, "files": dict(sorted(bundle.files.items()))}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def parse(content: str, *, where: str = FILE_NAME) -> Bundle:
    """Read the list.

    Raises:
        BundleError: it cannot be used; says where the first mistake is.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"not valid JSON: {error}", where=where, hint=_REMAKE) from error
    faults = Faults(file=where, lines={})
    try:
        bundle = _read(table(document, Place(path=(), faults=faults)))
    except KernelError as error:
        raise BundleError(error.problem, where=where, hint=_REMAKE) from error
    if faults.found:
        first = faults.found[0]
        raise BundleError(first.problem, where=first.where, hint=first.hint or _REMAKE)
    return bundle


def _read(root: Table) -> Bundle:
    root.required("version", _format, stand_in=0)
    no_kernels: tuple[BundledKernel, ...] = ()
    no_files: dict[str, str] = {}
    kernels = root.required("kernels", each(_kernel), stand_in=no_kernels)
    files = root.required("files", _files, stand_in=no_files)
    root.reject_unknown()
    return Bundle(kernels=tuple(sorted(kernels, key=_order)), files=files)


def _format(value: object, place: Place) -> int:
    number = natural(value, place)
    if number != FORMAT:
        raise place.fail(f"format {number} is not known here", "upgrade kernelmill")
    return number


def _kernel(value: object, place: Place) -> BundledKernel:
    item = table(value, place)
    kernel = BundledKernel(
        repo_id=item.required("repo-id", parsed(RepoId.parse), stand_in=_NOBODY),
        version=item.optional("version", natural, default=None),
        revision=item.optional("revision", text, default=None),
        commit=item.required("commit", _commit, stand_in=""),
    )
    if ("version" in item) == ("revision" in item):
        raise place.fail("give either a version or a revision", _REMAKE)
    item.reject_unknown()
    return kernel


def _files(value: object, place: Place) -> dict[str, str]:
    if not isinstance(value, dict):
        raise place.fail("not a table of hashes", _REMAKE)
    files: dict[str, object] = value
    for name, sha256 in files.items():  # thousands, before a kernel loads: no place for each
        if not _is_file_name(name):
            raise place.fail(f"{name!r} is not the name of a file in a bundle", _REMAKE)
        if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
            raise place.fail(f"{sha256!r} is not 64 hexadecimal digits", _REMAKE)
    return {name: str(sha256) for name, sha256 in files.items()}


def _is_file_name(name: str) -> bool:
    is_plain = name.isprintable() and "\\" not in name
    return is_plain and {"", ".", ".."}.isdisjoint(name.split("/"))


def _commit(value: object, place: Place) -> str:
    word = text(value, place)
    if not _COMMIT.fullmatch(word):
        raise place.fail(f"{word!r} is not a commit", _REMAKE)
    return word


def _order(it: BundledKernel) -> tuple[str, bool, int, str]:
    return str(it.repo_id), it.version is None, it.version or 0, it.revision or ""

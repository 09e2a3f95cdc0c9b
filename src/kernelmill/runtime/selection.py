"""Which build of a kernel to load: every entry point asks here, so that they all agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.runtime.load import variant_of
from kernelmill.runtime.revisions import Choice, choose_newest, choose_revision
from kernelmill.spec.errors import KernelError, NoVariant
from kernelmill.spec.resolve import Resolution, no_variant, resolve
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.runtime.hub import Hub
    from kernelmill.spec.host import Host
    from kernelmill.spec.names import RepoId

BUILD_FOLDER: Final = "build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A commit of a repository and what was decided about each of its builds."""

    repo: RepoId
    choice: Choice
    resolution: Resolution
    redirected_from: tuple[RepoId, ...] = ()
    """The repositories that led to this one, the one that was asked for first."""

    def require_variant(self, host: Host) -> str:
        """Return the folder name of the chosen build.

        Raises:
            NoVariant: none fits ``host``; says why not, one by one.
        """
        if self.resolution.chosen is None:
            raise no_variant(
                self.resolution, repo=str(self.repo), revision=self.choice.name, host=host
            )
        return str(self.resolution.chosen)


def select_build(
    hub: Hub,
    host: Host,
    repo: RepoId,
    *,
    version: int | None = None,
    revision: str | None = None,
) -> Selection:
    """Choose the commit that is asked for, and the best of its builds for ``host``."""
    choice = choose_revision(hub, repo, version=version, revision=revision)
    folders = hub.fetch_folders(repo, choice.commit, BUILD_FOLDER)
    return Selection(repo=repo, choice=choice, resolution=resolve(folders, host))


def newer_version(hub: Hub, host: Host, selection: Selection) -> str:
    """Return advice to take a repository's newest version, where only that one fits ``host``.

    One look at one version: this is for an error's text, and no failure of it may hide that.
    """
    repo = selection.repo
    try:
        newest = choose_newest(hub.fetch_refs(repo), repo)
        if newest.version is None or newest.commit == selection.choice.commit:
            return ""
        folders = hub.fetch_folders(repo, newest.commit, BUILD_FOLDER)
    except KernelError:
        return ""
    chosen = resolve(folders, host).chosen
    if chosen is None:
        return ""
    return (
        f"\n\nHowever, version v{newest.version} of '{repo}' has a build compatible with your "
        f"system ({chosen}). Consider upgrading to that version by specifying the `version` "
        "argument."
    )


def select_local(path: Path, host: Host) -> Path:
    """Return the folder of the best build for ``host`` under ``path``.

    ``path`` is a folder of builds, a kernel's repository with such a folder in it, or one build.

    Raises:
        NoVariant: none fits; says why not, one by one.
    """
    if not path.is_dir():
        raise NoVariant(
            f"there is no folder '{path}'", hint="give the folder of a kernel, or of its builds"
        )
    is_build = (path / "metadata.json").is_file()
    if is_build and variant_of(path.resolve().name) is None:
        return path  # a build under another name, such as Nix gives: there is nothing to compare
    folder = path.resolve().parent if is_build else builds_folder(path)
    if (path / "build.toml").is_file() and not any(folder.glob("*/metadata.json")):
        raise NoVariant(
            f"nothing is built in '{path}' yet", hint=f"run `kernel-builder build {path}`"
        )
    resolution = resolve_local(path, host)
    if resolution.chosen is None:
        raise no_variant(resolution, repo=str(path), revision="", host=host)
    return folder / str(resolution.chosen)


def resolve_local(path: Path, host: Host) -> Resolution:
    """Return the decision about each build under ``path``; about none where it is no folder."""
    if (path / "metadata.json").is_file():
        return resolve([path.resolve().name], host)
    return resolve(_folder_names(builds_folder(path)) if path.is_dir() else (), host)


def builds_folder(path: Path) -> Path:
    """Return the folder that holds the builds of the kernel at ``path``."""
    builds = path / BUILD_FOLDER
    # NOTE: `torch-ext`, which every kernel's repository holds, is named like a build.
    named = filter(variant_of, _folder_names(path))
    holds_builds = any((path / name / "metadata.json").is_file() for name in named)
    return path if holds_builds or not builds.is_dir() else builds


def _folder_names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.is_dir())

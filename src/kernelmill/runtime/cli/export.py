"""``kernels export``: put locked kernels into a folder or into wheels, for use without a Hub."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelmill.console import printable
from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import note, print_json

if TYPE_CHECKING:
    import argparse

    from kernelmill.runtime.export import Contents, ExportedKernel
    from kernelmill.runtime.locking_download import Downloader
    from kernelmill.spec.lockfile import Lockfile
    from kernelmill.spec.variant import Variant

HELP = "write the kernels of a lock file as a folder, or as wheels, that need no network"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source", metavar="DIR_OR_LOCK", type=Path, help="the project, or its lock file"
    )
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--dir", metavar="OUT", type=Path, help="make this folder")
    kind.add_argument("--wheel", metavar="OUT", type=Path, help="put wheels into this folder")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--variant",
        metavar="NAME",
        action="append",
        help="for machines that run this build, not for this machine; may be repeated",
    )
    which.add_argument("--all-variants", action="store_true", help="for every machine")
    parser.add_argument("--name", help="of the wheels' project; default: that of pyproject.toml")
    parser.add_argument("--release", metavar="VERSION", help="of the wheels; default: likewise")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    arguments.add_trust(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Collect the builds, check them, and write the bundle."""
    from kernelmill.runtime.errors import BundleError  # noqa: PLC0415 - only this command
    from kernelmill.runtime.locking import find_lockfile, read_lockfile  # noqa: PLC0415 - as above

    path = find_lockfile(args.source)
    lockfile, text = read_lockfile(path), path.read_text(encoding="utf-8")
    if not lockfile.kernels:
        problem = "there is nothing to bundle: no kernel is locked"
        raise BundleError(problem, where=str(path), hint="name one in pyproject.toml, and lock it")
    export = _export_folder if args.dir else _export_wheels
    document = export(args, _downloader(args), lockfile, text)
    if args.json:
        print_json({"version": 1, "lock": str(path), **document})
    return 0


def _downloader(args: argparse.Namespace) -> Downloader:
    from kernelmill.runtime.cache import Cache  # noqa: PLC0415 - only this command
    from kernelmill.runtime.export_targets import select_targets  # noqa: PLC0415 - as above
    from kernelmill.runtime.hub.opening import open_hub  # noqa: PLC0415 - as above
    from kernelmill.runtime.locking_download import (  # noqa: PLC0415 - as above
        Downloader,
        select_all,
        select_for,
    )
    from kernelmill.runtime.probe import probe_host  # noqa: PLC0415 - as above
    from kernelmill.runtime.settings import read_settings  # noqa: PLC0415 - as above

    settings = read_settings()
    cache = Cache(root=settings.cache_dir)
    if args.variant:
        select = select_targets(_targets(args))
    else:
        select = select_all if args.all_variants else select_for(probe_host())
    trust = arguments.trust_of(args)
    return Downloader(
        hub=open_hub(settings, cache), cache=cache, select=select, trust=trust, report=note
    )


def _targets(args: argparse.Namespace) -> tuple[Variant, ...]:
    from kernelmill.spec.variant import parse_variant  # noqa: PLC0415 - only this command

    return tuple(dict.fromkeys(map(parse_variant, args.variant)))


def _collect(downloader: Downloader, lockfile: Lockfile) -> tuple[ExportedKernel, ...]:
    """Return the kernels with their builds, fetched and checked."""
    from kernelmill.runtime.export import ensure_closed, read_builds  # noqa: PLC0415 - only here

    kernels = []
    for it in lockfile.kernels:
        note(printable(f"collecting {it.repo_id} (revision: {it.commit})"))
        kernels.append(read_builds(it, downloader.download(it)))
    ensure_closed(kernels, lockfile)
    return tuple(kernels)


def _export_folder(
    args: argparse.Namespace, downloader: Downloader, lockfile: Lockfile, text: str
) -> dict[str, object]:
    from kernelmill.runtime.export import gather  # noqa: PLC0415 - only this command
    from kernelmill.runtime.export_folder import (  # noqa: PLC0415 - as above
        ensure_replaceable,
        write_folder,
    )

    ensure_replaceable(args.dir, is_forced=args.force)  # before anything is fetched
    kernels = _collect(downloader, lockfile)
    contents = gather(kernels, text)
    write_folder(contents, args.dir, is_forced=args.force)
    if not args.json:
        note(f"load from it with KERNELS_BUNDLE={args.dir.resolve()}")
        print(args.dir)
    return {"path": str(args.dir), **_size(contents), "kernels": _kernels_json(kernels)}


def _export_wheels(
    args: argparse.Namespace, downloader: Downloader, lockfile: Lockfile, text: str
) -> dict[str, object]:
    from kernelmill.runtime.export_targets import (  # noqa: PLC0415 - only this command
        common_targets,
        fetch_catalogue,
        select_targets,
    )

    targets: tuple[Variant | None, ...] = (None,)
    skipped: dict[str, str] = {}
    if args.variant:
        targets = _targets(args)
    elif args.all_variants:
        targets, skipped = common_targets(fetch_catalogue(downloader, lockfile.kernels))
    for variant, reason in skipped.items():
        note(printable(f"no wheel for {variant}: {reason}"))
    wheels = []
    for target in targets:
        select = downloader.select if target is None else select_targets([target])
        kernels = _collect(replace(downloader, select=select), lockfile)
        wheels.append(_export_wheel(args, kernels, text, target))
    return {"path": str(args.wheel), "wheels": wheels, "skipped": skipped}


def _export_wheel(
    args: argparse.Namespace,
    kernels: tuple[ExportedKernel, ...],
    text: str,
    target: Variant | None,
) -> dict[str, object]:
    from kernelmill.runtime.export import gather, most_specific  # noqa: PLC0415 - only here
    from kernelmill.runtime.export_wheel import (  # noqa: PLC0415 - as above
        name_wheel,
        required_packages,
        write_wheel,
    )

    project, release = _project(args)
    variants = sorted({variant for it in kernels for variant in it.builds})
    target = target or most_specific(variants)
    contents = gather(kernels, text)
    name = name_wheel(project, release, target, contents.sources, variants)
    needed = [
        package
        for it in kernels
        for _, metadata in it.builds.values()
        for package in metadata.python_depends
    ]
    requires = required_packages(needed)
    path = write_wheel(contents, name, args.wheel, requires=requires, is_forced=args.force)
    if not args.json:
        print(path)
    return {
        "path": str(path),
        "variant": str(target),
        "tag": name.tag,
        "size_bytes": path.stat().st_size,
        "kernels": _kernels_json(kernels),
    }


def _project(args: argparse.Namespace) -> tuple[str, str]:
    """Return the name and the version of the project: as given, as it says, or a guess."""
    from kernelmill.runtime.locking_project import (  # noqa: PLC0415 - only this command
        FILE_NAME,
        Project,
        read_project,
    )

    folder = args.source if args.source.is_dir() else args.source.parent
    is_project = (folder / FILE_NAME).is_file()
    project = read_project(folder) if is_project else Project()
    name = args.name or project.name or folder.resolve().name
    return name, args.release or project.version or "0"


def _size(contents: Contents) -> dict[str, object]:
    size_bytes = sum(it.stat().st_size for it in contents.sources.values())
    return {"files": len(contents.bundle.files), "size_bytes": size_bytes}


def _kernels_json(kernels: tuple[ExportedKernel, ...]) -> list[dict[str, object]]:
    return [
        {
            "repo_id": str(it.kernel.repo_id),
            "version": it.kernel.version,
            "revision": it.kernel.revision,
            "commit": it.kernel.commit,
            "builds": sorted(it.builds),
        }
        for it in kernels
    ]

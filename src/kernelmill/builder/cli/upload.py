"""``kernel-builder upload``: check the built variants, then upload them with ``kernels upload``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from kernelmill.builder.cli.options import add_folder, note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from kernelmill.builder.publishing import Wish

HELP = "check the variants in build/ and upload them"
_KERNELS_UPLOAD: Final = (sys.executable, "-P", "-m", "kernelmill.runtime", "upload")
"""``-P``: a kernel's folder, which we may be in, holds no modules for us."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument(
        "--builds", metavar="FOLDER", help="result or build; by default the one that has builds"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_upload(parser)


def add_upload(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say where to, and how."""
    parser.add_argument("--repo-id", metavar="OWNER/NAME", help="by default that of build.toml")
    parser.add_argument("--branch", metavar="NAME", help="by default v<version>")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument("--repo-type", choices=["kernel", "model"])
    parser.add_argument(
        "--against", "--endpoint", metavar="URL", help="the Hub; by default that of HF_ENDPOINT"
    )
    parser.add_argument(
        "--allow-api-changes",
        action="store_true",
        help="upload into a version although calls that it answers would fail",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print what would be uploaded")
    parser.add_argument(
        "--output-json", type=Path, metavar="PATH", help="write what was done to a file"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print the result alone")
    parser.add_argument("--create-pr", action="store_true", help="not supported: see the error")


def run(args: argparse.Namespace) -> int:
    """Check, then hand over; the exit status is that of the upload."""
    from kernelmill.builder import publishing  # noqa: PLC0415 - `build-and-upload` needs none yet
    from kernelmill.builder.cli.fill_card import fill  # noqa: PLC0415 - as above
    from kernelmill.builder.review import review_build  # noqa: PLC0415 - heavy

    require_possible(args)
    root = args.dir.resolve()
    place = publishing.choose_place(root, args.builds)
    variants = review_build(root, place=place)
    if not args.quiet:
        note(f"checked {', '.join(variants)}")
    for name in publishing.find_dirty(root / place):
        note(f"warning: {name} was built from sources that no commit holds")
    for name in publishing.find_without_digest(root / place):
        note(
            f"warning: {name} has no digest, so who loads it cannot check its files: "
            "`kernel-builder hash` writes it"
        )
    require_repository(root, args.repo_id)
    fill(root, repo_id=args.repo_id)
    wish = _wish(args)
    if not (args.dry_run or args.allow_api_changes or args.repo_type == "model"):
        refusal = _compare_calls(wish, root, place, env=_hub_env(args))
        if refusal:
            return refusal
    return _hand_over(args, wish, root, place)


def _wish(args: argparse.Namespace) -> Wish:
    from kernelmill.builder.publishing import Wish  # noqa: PLC0415 - as in `run`

    return Wish(
        repo_id=args.repo_id,
        branch=args.branch,
        repo_type=args.repo_type,
        is_private=args.private,
        is_dry_run=args.dry_run,
        is_json=args.json or args.output_json is not None,
    )


def _compare_calls(wish: Wish, root: Path, place: str, *, env: Mapping[str, str]) -> int:
    """Compare with what the Hub has under the version, of which users get the newest build.

    Returns:
        The exit status of a plan that is refused, else 0.

    Raises:
        CheckError: a call that it answers would fail, and why.
    """
    from kernelmill.builder.check import require_no_findings  # noqa: PLC0415 - as in `run`
    from kernelmill.builder.check.surface import check_surface  # noqa: PLC0415 - as above
    from kernelmill.builder.cli.earlier import fetch_python  # noqa: PLC0415 - as above
    from kernelmill.builder.review import surface_of  # noqa: PLC0415 - as above
    from kernelmill.builder.variants import find_variants  # noqa: PLC0415 - as above

    words = [*_KERNELS_UPLOAD, str(root), f"--builds={place}", *wish.words(), "--dry-run", "--json"]
    planned = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if planned.returncode:
        print(planned.stderr, end="", file=sys.stderr)
        return planned.returncode
    plan = json.loads(planned.stdout)
    with TemporaryDirectory(prefix="kernel-builder-upload-") as folder:
        hint = (
            "check HF_ENDPOINT and the network; --allow-api-changes does not compare with what "
            "the Hub has"
        )
        repo, branch = plan["repo_id"], plan["branch"]
        earlier = fetch_python(repo, branch, Path(folder), env=env, hint=hint)
        if earlier is None:
            return 0
        known = surface_of(earlier)
    for variant in find_variants(root / place):
        where = f"{variant.name}, compared with {repo}@{branch}"
        require_no_findings(check_surface(known, surface_of(variant)), where=where)
    return 0


def _hub_env(args: argparse.Namespace) -> dict[str, str]:
    """Return an environment that names the Hub."""
    from kernelmill.builder.publishing import parse_endpoint  # noqa: PLC0415 - as in `run`

    return os.environ | ({"HF_ENDPOINT": parse_endpoint(args.against)} if args.against else {})


def require_possible(args: argparse.Namespace) -> None:
    """Stop here when the arguments ask for what no upload can do.

    Raises:
        InputError: they do, or there is no such folder.
    """
    from kernelmill.builder.errors import PlanError, SourceError  # noqa: PLC0415 - for `--help`
    from kernelmill.builder.publishing import parse_endpoint  # noqa: PLC0415 - as above

    if args.create_pr:
        raise PlanError(
            "uploads are commits to a branch, not pull requests",
            where="--create-pr",
            hint="use --branch, or --repo-id with a repository of your own",
        )
    if args.against:
        parse_endpoint(args.against)
    if not args.dir.is_dir():
        raise SourceError("no such folder", where=str(args.dir), hint="pass the kernel's folder")
    # Before the upload: after it, there would be no second time.
    if args.output_json and (args.output_json.is_dir() or not args.output_json.parent.is_dir()):
        raise PlanError(
            f"{str(args.output_json)!r} cannot be written",
            where="--output-json",
            hint="name a file in a folder that there is",
        )


def require_repository(root: Path, repo_id: str | None) -> None:
    """Stop here when nobody says where to upload the kernel in ``root``.

    Raises:
        InputError: that is so, or ``repo_id`` is none.
    """
    from kernelmill.builder.errors import PlanError  # noqa: PLC0415 - as above
    from kernelmill.builder.sources import MANIFEST_NAME, read_manifest  # noqa: PLC0415 - as above
    from kernelmill.spec.names import RepoId  # noqa: PLC0415 - as above

    if repo_id:
        RepoId.parse(repo_id, where="--repo-id")
    if not (root / MANIFEST_NAME).exists():
        return  # builds without their sources: their metadata is asked later
    manifest, _ = read_manifest(root)
    hub = manifest.general.hub
    if not (repo_id or hub.repo_id):
        raise PlanError(
            "no repository to upload to",
            where="build.toml general.hub",
            hint=f"pass --repo-id OWNER/{manifest.general.name}, or write [general.hub] with "
            f'repo-id = "OWNER/{manifest.general.name}"',
        )


def _hand_over(args: argparse.Namespace, wish: Wish, root: Path, place: str) -> int:
    from kernelmill.builder.publishing import as_upstream_reports  # noqa: PLC0415 - as in `run`

    done = subprocess.run(
        [*_KERNELS_UPLOAD, str(root), f"--builds={place}", *wish.words()],
        env=_hub_env(args),
        stdout=subprocess.PIPE if args.output_json else None,
        stderr=subprocess.PIPE if args.quiet else None,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stderr or "", end="", file=sys.stderr)
        return done.returncode
    if args.output_json:
        document = json.loads(done.stdout)
        text = json.dumps(as_upstream_reports(document), indent=2) + "\n"
        _write_report(args.output_json, text)
        print(
            done.stdout if args.json else document.get("url") or "", end="" if args.json else "\n"
        )
    return 0


def _write_report(place: Path, text: str) -> None:
    from kernelmill.builder.errors import ToolchainError  # noqa: PLC0415 - as in `run`

    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ToolchainError(
            f"all was uploaded, but the report cannot be written: {error.strerror}",
            where=str(place),
            hint="run the same command again, with another --output-json",
        ) from error

"""``kernels verify-signature``: whether somebody who is trusted vouches for a kernel's builds."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.console import printable
from kernelmill.runtime.cli import arguments
from kernelmill.runtime.cli.output import note, print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kernelmill.runtime.signatures.results import Result
    from kernelmill.runtime.signatures.verification import Signers

HELP = "verify who signed a kernel's builds, and that they are unchanged; needs no network"

_UNSIGNED: Final = ("SignatureBundleMissing",)
_NO_DIGEST: Final = ("MetadataMissing", "DigestMissing")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("repo", metavar="REPO", help="a repository, or a folder of builds")
    parser.add_argument(
        "version", metavar="VERSION", nargs="?", type=int, help="the version: branch vN"
    )
    parser.add_argument(
        "--all-variants",
        action="store_true",
        help="every build, not only the one for this machine; of a folder it is always every one",
    )
    parser.add_argument("--filter-unsigned", action="store_true", help="skip unsigned builds")
    parser.add_argument("--filter-no-digest", action="store_true", help="skip those without digest")
    parser.add_argument(
        "--key",
        action="append",
        type=Path,
        metavar="FILE",
        help="accept these ed25519 public keys (or a folder of them); may be repeated",
    )
    parser.add_argument(
        "--workflow",
        action="append",
        metavar="URI",
        help="accept sigstore signatures by this GitHub workflow; may be repeated. Without --key "
        "and --workflow: whom the environment names, or else Hugging Face's kernels-community",
    )
    parser.add_argument(
        "--trust-root",
        type=Path,
        metavar="FILE",
        help="sigstore's trusted_root.json; by default the one that comes with sigstore",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line per build; 1 when any is not verified."""
    from kernelmill.runtime.signatures import verify_variant  # noqa: PLC0415 - only here

    signers = _signers(args)
    results = {
        folder.name: verify_variant(
            folder,
            signers.policies,
            keys=signers.keys,
            trust_root=signers.trust_root,
            root=root,
        )
        for folder, root in _builds(args)
    }
    skipped = (_UNSIGNED if args.filter_unsigned else ()) + (
        _NO_DIGEST if args.filter_no_digest else ()
    )
    kept = {name: it for name, it in results.items() if type(it).__name__ not in skipped}
    if args.json:
        print_json(_as_json(args, kept, sorted(set(results) - set(kept))))
    else:
        _print_lines(kept)
    return 0 if all(map(_is_success, kept.values())) else 1


def _signers(args: argparse.Namespace) -> Signers:
    """Return who is trusted: those of the command line, else those of the environment."""
    from kernelmill.runtime.signatures.requirement import read_signers  # noqa: PLC0415 - only here
    from kernelmill.runtime.signatures.settings import read_signature_settings  # noqa: PLC0415
    from kernelmill.spec.signature import parse_workflow  # noqa: PLC0415 - as above

    settings = read_signature_settings()
    if args.key or args.workflow:
        workflows = [parse_workflow(uri, where="--workflow") for uri in args.workflow or ()]
        settings = dataclasses.replace(
            settings, key_paths=tuple(args.key or ()), workflows=tuple(workflows)
        )
    if args.trust_root:
        settings = dataclasses.replace(settings, trust_root=args.trust_root)
    return read_signers(settings)


def _builds(args: argparse.Namespace) -> Iterator[tuple[Path, Path | None]]:
    """Yield the folder of each build, and the folder that its links may not leave."""
    if Path(args.repo).is_dir():
        yield from _local_builds(Path(args.repo), args.version)
        return
    from kernelmill.runtime.session import open_session  # noqa: PLC0415 - only this command
    from kernelmill.spec.names import RepoId  # noqa: PLC0415 - as above

    session = open_session(is_fresh=True)
    selection = session.look_up(RepoId.parse(args.repo), version=args.version)
    chosen = selection.require_variant(session.host) if not args.all_variants else ""
    names = [chosen] if chosen else [str(each.variant) for each in selection.resolution.trace]
    for name in names:
        yield session.install(selection, name), session.cache.root


def _local_builds(path: Path, version: int | None) -> Iterator[tuple[Path, None]]:
    from kernelmill.runtime.load import variant_of  # noqa: PLC0415 - only this command
    from kernelmill.runtime.selection import builds_folder  # noqa: PLC0415 - as above
    from kernelmill.spec.errors import InputError  # noqa: PLC0415 - as above

    if version is not None:
        raise InputError(
            "VERSION cannot be used with a local path",
            where=str(path),
            hint="leave it out: a folder holds one version",
        )
    if (path / "metadata.json").is_file():
        yield path.resolve(), None
        return
    found = sorted(
        each for each in builds_folder(path).iterdir() if each.is_dir() and variant_of(each.name)
    )
    if not found:
        raise InputError("there are no builds here", where=str(path), hint="give a kernel's folder")
    yield from ((each, None) for each in found)


def _print_lines(results: dict[str, Result]) -> None:
    from kernelmill.runtime.signatures.results import describe  # noqa: PLC0415 - only here

    for name, result in results.items():
        mark = "✅" if _is_success(result) else "❌"
        print(printable(f"{mark} {name}: {describe(result)}"))
    if not results:
        note("nothing was verified: every build was skipped")


def _as_json(
    args: argparse.Namespace, results: dict[str, Result], skipped: list[str]
) -> dict[str, object]:
    variants = []
    for name, result in results.items():
        facts = {key: getattr(result, key, None) for key in ("signer", "reason")}
        violations = list(getattr(result, "violations", ()))
        variants.append(
            {
                "variant": name,
                "result": type(result).__name__,
                **{key: value for key, value in facts.items() if value},
                **({"violations": violations} if violations else {}),
            }
        )
    return {"version": 1, "kernel": args.repo, "variants": variants, "skipped": skipped}


def _is_success(result: Result) -> bool:
    return type(result).__name__ == "Success"

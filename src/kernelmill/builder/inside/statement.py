"""An in-toto statement about a variant: what it is, what it was made of, and how.

Formats: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md and
https://slsa.dev/spec/v1.0/provenance. Without times: the same build gives the same statement.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from kernelmill import __version__
from kernelmill.builder.package import read_metadata

if TYPE_CHECKING:
    from pathlib import Path

    from kernelmill.builder.inside.order import Order

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://slsa.dev/provenance/v1"
BUILD_TYPE: Final = "urn:kernelmill:release-build:v1"
BUILDER_ID: Final = "urn:kernelmill:builder"


def provenance(order: Order, folder: Path, *, key: str) -> str:
    """Return the statement about the variant in ``folder``, as canonical JSON.

    Args:
        order: what was built.
        folder: the result.
        key: of the build, which is equal for equal inputs.
    """
    metadata = read_metadata(folder)
    inputs = metadata.build.inputs if metadata.build else {}
    sdks = {it.name for it in order.sdks}
    document = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": f"{folder.name}/{path}", "digest": {"sha256": sha256}}
            for path, sha256 in file_hashes(folder).items()
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"variant": order.variant, "kernel": metadata.name},
                "internalParameters": {"isolation": order.isolation, "key": key},
                "resolvedDependencies": [
                    *_source(order),
                    *(_dependency(name, sha, sdks) for name, sha in sorted(inputs.items())),
                ],
            },
            "runDetails": {"builder": {"id": BUILDER_ID, "version": {"kernelmill": __version__}}},
        },
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def file_hashes(folder: Path) -> dict[str, str]:
    """Return path -> sha256 of every file below ``folder``, sorted."""
    paths = sorted(it.relative_to(folder).as_posix() for it in folder.rglob("*") if it.is_file())
    return {it: hashlib.sha256((folder / it).read_bytes()).hexdigest() for it in paths}


def _source(order: Order) -> list[dict[str, object]]:
    source = order.source
    if source is None or source.commit is None:
        return []
    state = {"annotations": {"dirty": True}} if source.is_dirty else {}
    return [{"name": "source", "digest": {"gitCommit": source.commit}, **state}]


def _dependency(name: str, sha256: str, sdks: set[str]) -> dict[str, object]:
    # That of an SDK is over its archive in Nix's format, not over a file.
    kind = "narHash" if name in sdks or name == "kernelmill" else "sha256"
    return {"name": name, "digest": {kind: sha256}}

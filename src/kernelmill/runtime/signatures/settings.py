"""Whose signatures this process asks for, as the environment says it, read at each call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.spec.errors import InputError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelmill.spec.signature import Workflow

_ON: Final = frozenset({"1", "on", "yes", "true"})
_OFF: Final = frozenset({"", "0", "off", "no", "false"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureSettings:
    """What a kernel from a Hub needs to be loaded."""

    is_required: bool = False
    key_paths: tuple[Path, ...] = ()
    """Files or folders of public keys."""
    workflows: tuple[Workflow, ...] = ()
    trust_root: Path | None = None
    """``trusted_root.json``; None for the one that comes with sigstore."""


def read_signature_settings(environ: Mapping[str, str] | None = None) -> SignatureSettings:
    """Return the settings that hold now. To name somebody is to require a signature.

    Args:
        environ: the environment; that of the process by default.

    Raises:
        InputError: a variable cannot be used. An answer that is not understood is never "no".
    """
    env = os.environ if environ is None else environ
    keys = _paths(env.get("KERNELS_TRUSTED_KEYS", ""))
    workflows = _workflows(env, "KERNELS_TRUSTED_WORKFLOWS")
    root = env.get("KERNELS_SIGSTORE_TRUST_ROOT", "")
    return SignatureSettings(
        is_required=_is_on(env, "KERNELS_REQUIRE_SIGNATURE") or bool(keys or workflows),
        key_paths=keys,
        workflows=workflows,
        trust_root=Path(root) if root else None,
    )


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(each) for each in text.split(os.pathsep) if each)


def _workflows(env: Mapping[str, str], name: str) -> tuple[Workflow, ...]:
    if not env.get(name):
        return ()
    from kernelmill.spec.signature import parse_workflow  # noqa: PLC0415 - few name any

    return tuple(parse_workflow(uri, where=name) for uri in env[name].split())


def _is_on(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name, "").lower()
    if text in _ON | _OFF:
        return text in _ON
    raise InputError(
        f"{env[name]!r} is neither yes nor no", where=name, hint="set it to 1, or unset it"
    )

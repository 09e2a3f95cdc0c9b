"""What the environment says about Hubs, caches and local kernels, read at the time of each call."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION: Final = "0.18.2"
"""The version of Hugging Face's ``kernels`` whose interface this package offers."""

PUBLIC_HUB: Final = "https://huggingface.co"
TRUE_TEXTS: Final = frozenset({"1", "ON", "YES", "TRUE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The part of the environment that loading depends on."""

    endpoint: str
    """Base URL of the Hub, without a slash at its end."""
    cache_dir: Path
    """Where kernels from ``endpoint`` are kept. Another endpoint has another folder."""
    is_offline: bool
    local_kernels: Mapping[str, Path]
    """Repository id -> folder that is used instead of the Hub."""
    is_telemetry_off: bool


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that hold now.

    Args:
        environ: the environment; that of the process by default.

    Raises:
        InputError: ``HF_ENDPOINT`` or ``LOCAL_KERNELS`` cannot be used.
    """
    env = os.environ if environ is None else environ
    endpoint = parse_endpoint(env.get("HF_ENDPOINT") or PUBLIC_HUB)
    return Settings(
        endpoint=endpoint,
        cache_dir=endpoint_folder(cache_root(env), endpoint),
        is_offline=_is_offline(env),
        local_kernels=parse_local_kernels(env.get("LOCAL_KERNELS", "")),
        is_telemetry_off=_is_true(env.get("HF_HUB_DISABLE_TELEMETRY", "")),
    )


def parse_endpoint(text: str) -> str:
    """Read the base URL of a Hub."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(
            f"{text!r} is not the URL of a Hub",
            where="HF_ENDPOINT",
            hint='write it as "https://hub.example.org" or "http://127.0.0.1:8080"',
        )
    return text.rstrip("/")


def cache_root(env: Mapping[str, str]) -> Path:
    """Return the folder of all cached kernels; the first variable that is set names it."""
    for name in ("KERNELS_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            return Path(env[name]).expanduser()
    if env.get("HF_HOME"):
        return Path(env["HF_HOME"]).expanduser() / "hub"
    return Path(env.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


def endpoint_folder(root: Path, endpoint: str) -> Path:
    """Return the part of the cache that belongs to ``endpoint``.

    The public Hub has ``root`` itself, which it shares with huggingface_hub; any other Hub has a
    folder of its own, so that a repository of the same name there is never taken from it.
    """
    if endpoint == PUBLIC_HUB:
        return root
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", urlsplit(endpoint).netloc.rpartition("@")[2])
    return root / "endpoints" / f"{readable}-{hashlib.sha256(endpoint.encode()).hexdigest()[:8]}"


def parse_local_kernels(text: str) -> dict[str, Path]:
    """Read ``org/name=path:org/name=path``, the format of ``LOCAL_KERNELS``."""
    overrides = {}
    for entry in filter(None, text.split(":")):
        repo_id, equals, path = entry.partition("=")
        if not (equals and repo_id and path):
            raise InputError(
                f"Invalid LOCAL_KERNELS entry: {entry}. "
                "Expected format: repo_id_1=path_1:repo_id_2=path_2",
                hint="correct or unset LOCAL_KERNELS",
            )
        overrides[repo_id] = Path(path).expanduser()
    return overrides


def _is_offline(env: Mapping[str, str]) -> bool:
    # Programs also switch huggingface_hub offline by hand, once it is imported: believe that, too.
    constants = sys.modules.get("huggingface_hub.constants")
    return _is_true(env.get("HF_HUB_OFFLINE") or env.get("TRANSFORMERS_OFFLINE") or "") or bool(
        getattr(constants, "HF_HUB_OFFLINE", False)
    )


def _is_true(text: str) -> bool:
    return text.upper() in TRUE_TEXTS

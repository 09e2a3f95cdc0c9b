"""What the environment says about Hubs, caches and local kernels, read at the time of each call."""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import kernelmill
from kernelmill.spec.errors import InputError
from kernelmill.spec.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION: Final = kernelmill.API_VERSION
"""The version of Hugging Face's ``kernels`` whose interface this package offers."""

PUBLIC_HUB: Final = "https://huggingface.co"
TRUE_TEXTS: Final = frozenset({"1", "ON", "YES", "TRUE"})
MAX_AGE_S: Final = 24 * 3600.0
"""How long what a Hub said of a branch or a publisher is taken for true, unless told otherwise."""

DECIDING_VARIABLES: Final = (
    "HF_ENDPOINT",
    "KERNELS_CACHE",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "HF_HOME",
    "XDG_CACHE_HOME",
    "HOME",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "LOCAL_KERNELS",
    "KERNELS_BUNDLE",
    "KERNELS_REVALIDATE",
    "KERNELS_STRICT",
    "KERNELS_REQUIRE_SIGNATURE",
    "KERNELS_TRUSTED_KEYS",
    "KERNELS_TRUSTED_WORKFLOWS",
    "KERNELS_SIGSTORE_TRUST_ROOT",
)
"""The variables that decide what a call loads."""


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
    max_age_s: float = MAX_AGE_S
    """How long what ``endpoint`` said of a branch or a publisher is taken for true."""
    is_strict: bool = False
    """Whether every file is hashed at each loading, even where nothing seems to have changed."""


def read_settings(
    environ: Mapping[str, str] | None = None, *, endpoint: str | None = None
) -> Settings:
    """Return the settings that hold now.

    Args:
        environ: the environment; that of the process by default.
        endpoint: the Hub, if it is another than the environment's.

    Raises:
        InputError: ``HF_ENDPOINT`` or ``LOCAL_KERNELS`` cannot be used.
    """
    env = os.environ if environ is None else environ
    endpoint = parse_endpoint(endpoint or env.get("HF_ENDPOINT") or PUBLIC_HUB)
    return Settings(
        endpoint=endpoint,
        cache_dir=endpoint_folder(cache_root(env), endpoint),
        is_offline=_is_offline(env),
        local_kernels=parse_local_kernels(env.get("LOCAL_KERNELS", "")),
        is_telemetry_off=is_true(env.get("HF_HUB_DISABLE_TELEMETRY", "")),
        max_age_s=parse_max_age(env.get("KERNELS_REVALIDATE", "")),
        is_strict=is_strict(env),
    )


def is_strict(environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether every file is to be hashed at each loading."""
    env = os.environ if environ is None else environ
    return is_true(env.get("KERNELS_STRICT", ""))


def parse_max_age(text: str) -> float:
    """Read ``never``, ``always`` or a number of seconds, the format of ``KERNELS_REVALIDATE``."""
    named = {"": MAX_AGE_S, "never": math.inf, "always": 0.0}
    with suppress(ValueError):
        age_s = named[text] if text in named else float(text)
        if age_s >= 0:
            return age_s
    raise InputError(
        f"{text!r} is not a time after which to ask again",
        where="KERNELS_REVALIDATE",
        hint="write never, always or a number of seconds",
    )


def parse_endpoint(text: str) -> str:
    """Read the base URL of a Hub."""
    if not is_hub_url(text):
        raise InputError(
            f"{without_password(text)!r} is not the URL of a Hub",
            where="HF_ENDPOINT",
            hint='write it as "https://hub.example.org" or "http://127.0.0.1:8080"',
        )
    if "@" in urlsplit(text).netloc:
        raise InputError(
            f"the URL {without_password(text)!r} holds a user or a password",
            where="HF_ENDPOINT",
            hint="leave it out, for every message shows the URL, and set HF_TOKEN",
        )
    return text.rstrip("/")


def is_hub_url(text: str) -> bool:
    """Tell whether ``text`` is a base URL: a scheme, a host, perhaps a port and a path."""
    try:
        parts = urlsplit(text)
        is_base = not (parts.query or parts.fragment) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        return False
    # urlsplit drops line breaks and tabs, wherever they are.
    is_plain = text.isascii() and text.isprintable() and " " not in text
    return is_base and is_plain and parts.scheme in {"http", "https"} and bool(parts.hostname)


def without_password(url: str) -> str:
    """Return ``url`` without what stands before the host."""
    return re.sub(r"//[^/]*@", "//", url)


def cache_root(env: Mapping[str, str]) -> Path:
    """Return the folder of all cached kernels; the first variable that is set names it."""
    for name in ("KERNELS_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            return _home_path(env[name], name)
    return huggingface_home(env) / "hub"


def huggingface_home(env: Mapping[str, str]) -> Path:
    """Return the folder of everything of Hugging Face's: caches, and the token."""
    if env.get("HF_HOME"):
        return _home_path(env["HF_HOME"], "HF_HOME")
    cache = _home_path(env.get("XDG_CACHE_HOME") or "~/.cache", "XDG_CACHE_HOME")
    return cache / "huggingface"


def endpoint_folder(root: Path, endpoint: str) -> Path:
    """Return the part of the cache that belongs to ``endpoint``.

    The public Hub has ``root`` itself, which it shares with huggingface_hub; any other Hub has a
    folder of its own, so that a repository of the same name there is never taken from it.
    """
    if endpoint == PUBLIC_HUB:
        return root
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", urlsplit(endpoint).netloc)
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
        overrides[repo_id] = _home_path(path, "LOCAL_KERNELS")
    return overrides


def _home_path(text: str, where: str) -> Path:
    """Return a path whose ``~`` was replaced."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise InputError(
            f"{text!r} needs a home folder, and there is none",
            where=where,
            hint="set HOME, or write the whole path",
        ) from None  # it says nothing more


def _is_offline(env: Mapping[str, str]) -> bool:
    # Programs also switch huggingface_hub offline by hand, once it is imported: believe that, too.
    constants = sys.modules.get("huggingface_hub.constants")
    return is_true(env.get("HF_HUB_OFFLINE") or env.get("TRANSFORMERS_OFFLINE") or "") or bool(
        getattr(constants, "HF_HUB_OFFLINE", False)
    )


def is_true(text: str) -> bool:
    """Tell whether a variable's text means yes."""
    return text.upper() in TRUE_TEXTS

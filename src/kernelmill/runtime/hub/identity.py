"""Who asks a Hub: the headers that say so. The token is read where ``hf auth login`` left it."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelmill.runtime.errors import AccessDenied
from kernelmill.runtime.settings import API_VERSION, huggingface_home, is_true
from kernelmill.spec.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_VARIABLES: Final = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def headers_of(
    user_agent: str | Mapping[str, str] | None, token: str | bool | None
) -> dict[str, str]:
    """Return the headers of a request.

    Args:
        user_agent: said besides what is said anyway.
        token: the token; None for the one that is here, True to insist on it, False for none.
    """
    headers = {"User-Agent": _agent(user_agent)}
    if found := _token(token):
        if not (found.isascii() and found.isprintable()):
            raise InputError(
                "the token holds characters that no token has",
                where="HF_TOKEN",
                hint="copy it once more, or run `hf auth login`",
            )
        headers["Authorization"] = f"Bearer {found}"
    return headers


def _agent(extra: str | Mapping[str, str] | None) -> str:
    parts = [f"kernels/{API_VERSION}", f"python/{platform.python_version()}"]
    if not is_true(os.environ.get("HF_HUB_DISABLE_TELEMETRY", "")):
        torch = getattr(sys.modules.get("torch"), "__version__", "")
        parts += [f"torch/{torch}"] if torch else []
    if extra:
        extras = [extra] if isinstance(extra, str) else [f"{it}/{extra[it]}" for it in extra]
        parts += extras
    if origin := os.environ.get("HF_HUB_USER_AGENT_ORIGIN"):
        parts.append(f"origin/{origin}")
    text = "; ".join(dict.fromkeys(parts))
    return "".join(it for it in text if it.isascii() and it.isprintable())  # a header is one line


def _token(given: str | bool | None) -> str:
    if isinstance(given, str):
        return given
    if given is False:
        return ""
    if given is None and is_true(os.environ.get("HF_HUB_DISABLE_IMPLICIT_TOKEN", "")):
        return ""
    found = _official_token() if _is_renewed() else _plain_token()
    if given and not found:
        raise AccessDenied("there is no token", hint="set HF_TOKEN, or run `hf auth login`")
    return found


def _plain_token() -> str:
    for name in TOKEN_VARIABLES:
        if os.environ.get(name):
            return _cleaned(os.environ[name])
    try:
        return _cleaned(_token_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # also where there is no home
        return ""


def _token_file() -> Path:
    named = os.environ.get("HF_TOKEN_PATH")
    if named:
        return Path(os.path.expandvars(named)).expanduser()
    return huggingface_home(os.environ) / "token"


def _is_renewed() -> bool:
    """Tell whether the token is one that expires: then only huggingface_hub can get another."""
    if os.environ.get("HF_OIDC_RESOURCE") or "google.colab" in sys.modules:
        return True
    if any(map(os.environ.get, TOKEN_VARIABLES)):
        return False
    try:
        text = _token_file().with_name("stored_tokens").read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError):
        return False
    return "refresh_token" in text


def _official_token() -> str:
    from huggingface_hub import get_token  # noqa: PLC0415 - costs more than all else of a load

    return get_token() or ""


def _cleaned(text: str) -> str:
    return text.replace("\r", "").replace("\n", "").strip()

"""Completion scripts for bash, zsh and fish, written from what the commands take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelmill.builder.render.template import render_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelmill.builder.shell_words import CommandWords

SHELLS: Final = ("bash", "zsh", "fish")
PLACES: Final = {
    "bash": "~/.local/share/bash-completion/completions/{prog}",
    "zsh": "a folder of your $fpath, as _{prog}",
    "fish": "~/.config/fish/completions/{prog}.fish",
}
"""Where each shell looks for such a script."""


def render_completion(shell: str, prog: str, commands: Sequence[CommandWords]) -> str:
    """Return the script that completes the words of ``prog`` in ``shell``."""
    values = {
        "prog": prog,
        "function": "_" + prog.replace("-", "_"),
        "commands": commands,
        "quote": quote_for[shell],
    }
    return render_template(f"completion/{shell}.j2", values)


def _quote_sh(text: str) -> str:
    """Return ``text`` as one word of bash or zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _quote_zsh(text: str) -> str:
    """Return ``text`` for a specification of ``_arguments`` or ``_describe``, without quotes."""
    plain = text.replace("\\", "\\\\").replace(":", "\\:").replace("[", "\\[").replace("]", "\\]")
    return plain.replace("'", "'\\''")


def _quote_fish(text: str) -> str:
    """Return ``text`` as one word of fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


quote_for: Final = {"bash": _quote_sh, "zsh": _quote_zsh, "fish": _quote_fish}
"""How each shell wants text that may hold anything."""

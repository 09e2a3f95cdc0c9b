"""Check the metadata block at the top of a repository's README."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

if TYPE_CHECKING:
    from kernelmill.hub.wire.render import Json

FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
MAX_CHARS: Final = 64 * 1024
MAX_DEPTH: Final = 40


class _CardLoader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships no types
    """Reads plain YAML: no aliases, and no depth that a card would not have.

    Aliases in merge keys multiply: a kilobyte becomes gigabytes.
    """

    _depth = 0

    def compose_node(self, parent: object, index: object) -> object:
        """Return the next node."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed here")
        if self._depth == MAX_DEPTH:
            raise yaml.YAMLError(f"values are nested more than {MAX_DEPTH} levels deep")
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def check_card(text: str) -> list[Json]:
    """Return the errors of a README, each with a ``message``.

    A card without metadata is none: this Hub shows it all the same.
    """
    found = FRONT_MATTER.match(text)
    if found is None:
        is_open = text.startswith("---\n")
        return [_message("the metadata block of line 1 has no closing '---'")] if is_open else []
    if len(found[1]) > MAX_CHARS:
        return [_message(f"the metadata block is longer than {MAX_CHARS} characters")]
    try:
        value: object = yaml.load(found[1], Loader=_CardLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return [_message(f"the metadata block is not valid YAML: {error}")]
    if not isinstance(value, dict | None):
        return [_message("the metadata block must be a mapping of keys to values")]
    return []


def _message(text: str) -> Json:
    return {"message": text}

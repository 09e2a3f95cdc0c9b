"""How these types print: the spelling of the original, whose reprs quote with ``"``."""

from __future__ import annotations

import json
from pathlib import PurePath


def spell(value: object) -> str:
    """Return a value as the original's reprs write it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() | PurePath():
            return json.dumps(str(value), ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(map(spell, value))}]"
        case dict():
            items = (f"{spell(key)}: {spell(each)}" for key, each in value.items())
            return f"{{{', '.join(items)}}}"
    return repr(value)


def spell_fields(name: str, /, **fields: object) -> str:
    """Return ``Name(field=value, ...)``."""
    return f"{name}({', '.join(f'{field}={spell(value)}' for field, value in fields.items())})"

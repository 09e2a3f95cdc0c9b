"""Licenses: SPDX expressions, and the well-known texts that stand for one."""

from __future__ import annotations

from typing import Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from kernelmill.spec.reader import did_you_mean

_COMMON: Final = (
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "GPL-2.0-only",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "ISC",
    "LGPL-3.0-or-later",
    "MIT",
    "MPL-2.0",
)

# Phrases, in lower case and with single spaces, that occur together in one license's text only;
# the first line that fits counts. The GPL is left out: "only" or "or later" is not in its text.
_PHRASES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Apache-2.0", ("apache license version 2.0, january 2004", "grant of patent license")),
    ("MPL-2.0", ("mozilla public license version 2.0", "covered software")),
    (
        "BSD-3-Clause",
        ("redistribution and use in source and binary forms", "neither the name"),
    ),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    (
        "MIT",
        (
            "permission is hereby granted, free of charge, to any person obtaining a copy",
            "the software is provided",
            "the above copyright notice and this permission notice shall be included",
        ),
    ),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
)


def license_objection(expression: str) -> str:
    """Return why ``expression`` is no SPDX license expression, with a hint; empty when it is.

    ``LicenseRef-...`` is one, too: it stands for a license that SPDX does not list.
    """
    try:
        canonicalize_license_expression(expression)
    except InvalidLicenseExpression:
        # The nearest of the short names only: all of SPDX's would make wild guesses.
        known = {name.lower(): name for name in _COMMON}
        near = did_you_mean(expression.replace(" ", "-"), tuple(known))
        for spelt, name in known.items():
            near = near.replace(f"'{spelt}'", repr(name))
        hint = near or "use one of https://spdx.org/licenses, or LicenseRef-NAME for another"
        return f"{expression!r} is not an SPDX license expression; {hint}"
    return ""


def recognise_license(text: str) -> str | None:
    """Return the SPDX identifier of a license by its text, if it is a common one."""
    words = " ".join(text.lower().split())
    fits = (name for name, phrases in _PHRASES if all(phrase in words for phrase in phrases))
    return next(fits, None)

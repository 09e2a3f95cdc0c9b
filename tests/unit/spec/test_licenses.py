"""SPDX expressions, and licenses known by their text."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelmill.spec.licenses import license_objection, recognise_license

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "expression",
    [
        "Apache-2.0",
        "apache-2.0",
        "MIT OR Apache-2.0",
        "GPL-3.0-or-later WITH GCC-exception-3.1",
        "LicenseRef-unknown",
        "(MIT AND BSD-3-Clause) OR LicenseRef-My.Own",
    ],
)
def test_spdx_expression_meets_no_objection(expression: str) -> None:
    assert license_objection(expression) == ""


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("Apache 2.0", "did you mean 'Apache-2.0'?"),
        ("apache2", "did you mean 'Apache-2.0'?"),
        ("MIT/X11 or so", "use one of https://spdx.org/licenses, or LicenseRef-NAME for another"),
        ("Proprietary", "use one of https://spdx.org/licenses, or LicenseRef-NAME for another"),
        ("", "use one of https://spdx.org/licenses, or LicenseRef-NAME for another"),
    ],
)
def test_objection_says_what_was_probably_meant(expression: str, hint: str) -> None:
    assert license_objection(expression) == (
        f"{expression!r} is not an SPDX license expression; {hint}"
    )


def test_license_is_recognised_by_its_text() -> None:
    assert recognise_license((ROOT / "LICENSE").read_text(encoding="utf-8")) == "Apache-2.0"


BSD = "Redistribution and use in source and binary forms, with or without modification"
MIT = """\
Permission is hereby granted, free of charge, to any person
obtaining a copy of this software. The above copyright notice and this permission notice shall be
included. THE SOFTWARE IS PROVIDED "AS IS"."""


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        (BSD, "BSD-2-Clause"),
        (f"{BSD}\n * Neither the name of the holder", "BSD-3-Clause"),
        (MIT, "MIT"),
        ("Mozilla Public License Version 2.0 ... Covered Software", "MPL-2.0"),
        ("GNU GENERAL PUBLIC LICENSE Version 3", None),
        ("Licensed under the Apache License, Version 2.0", None),
        ("All rights reserved.", None),
        ("", None),
    ],
)
def test_only_a_text_of_its_own_is_recognised(text: str, expression: str | None) -> None:
    assert recognise_license(text) == expression

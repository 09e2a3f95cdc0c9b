"""Documents that were made to keep a reader busy, or to fill its memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.spec.test_resolve import host_of

from kernelmill.runtime.locking_project import parse_project
from kernelmill.spec import archs, lockfile, metadata, signature, status
from kernelmill.spec.errors import InputError
from kernelmill.spec.resolve import no_variant, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = ",".join(f'"{number}":1' for number in range(100_000))
HEX = "0x" + "f" * 3000
GOOD: dict[str, Any] = {
    "name": "toy",
    "id": "_toy",
    "version": 1,
    "license": "MIT",
    "python-depends": [],
    "backend": {"type": "cpu"},
}


def with_values(**values: object) -> str:
    return json.dumps({**GOOD, **{key.replace("_", "-"): it for key, it in values.items()}})


@pytest.mark.parametrize(
    ("parse", "text", "problem"),
    [
        (metadata.parse, "{" + KEYS + ',"99999":1}', "key '99999' is given twice"),
        (lockfile.parse, "[{" + KEYS + "}]", "missing key 'dependency'"),
        (lockfile.parse, "[{" + KEYS + ',"99999":1}]', "key '99999' is given twice"),
        (signature.parse, '{"a":1,"a":1}', "key 'a' is given twice"),
        (metadata.parse, with_values(python_depends=[0] * 300_000), "0 is a number"),
        (metadata.parse, with_values(name="A" * 100_000), "a string of 100000 characters"),
        (metadata.parse, with_values(name="A" * 50_000), "invalid kernel name 'AAAA"),
        (metadata.parse, with_values(backend={"type": "A" * 50_000}), "unknown backend 'AAAA"),
        (metadata.parse, with_values(kernel_depends=[{"A" * 100_000: 1}]), "missing key"),
        (metadata.parse, with_values(kernels_minver="9" * 5000 + ".0.0"), "is not a version"),
        (metadata.parse, with_values(version=10**4000), "a number of 13288 bits is too large"),
        (status.parse, f'kind="redirect"\ndestination="a/b"\nrevision={HEX}', "12000 bits"),
        (status.parse, f'kind="redirect"\ndestination={HEX}', "12000 bits is not a repository id"),
        (status.parse, f"kind={HEX}", "Unknown kernel status kind: a number of 12000 bits"),
        (status.parse, "a." * 30_000 + "a=1", "larger than 4096 bytes"),
        (parse_project, f"[tool.kernels.dependencies]\n'a/b'={HEX}", "is too large"),
        (parse_project, f"[project]\nname=0x{'f' * 9000}", "write a string"),
    ],
)
def test_document_is_refused_at_once(parse: Callable[..., object], text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, where="file")
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_arch_of_many_digits_is_none() -> None:
    assert not archs.CAPABILITY.fullmatch("9" * 5000 + ".0")


def test_error_lists_a_few_odd_names_without_what_moves_a_cursor() -> None:
    host = host_of()
    names = ["\x1b[31mred", *(f"folder{number}" for number in range(1000))]
    error = no_variant(resolve(names, host), repo="acme/toy", revision="v1", host=host)
    assert "skipped 1001 not named like a variant" in error.problem
    assert "\x1b" not in error.problem
    assert len(error.problem) < 1000

"""L14: a build that joins a version answers every call that the version's earlier builds answer."""

from __future__ import annotations

import pytest

from kernelmill.builder.check.surface import check_surface, read_surface

OLD = b"""
from .layers import Linear as Layer
from ._ops import ops
from . import layers

__all__ = ["attention", "Layer", "layers", "missing"]

def attention(q, k, v=None, *, scale=1.0, **options): ...
def _private(): ...
"""
LAYERS = b"""
class Linear:
    def __init__(self, size): ...
    def forward(self, x): ...
    def _hidden(self): ...
"""


def surface(source: bytes, **others: bytes) -> list[str]:
    files = {"__init__.py": source} | {f"{name}.py": data for name, data in others.items()}
    return [str(entry) for entry in read_surface(files)]


def changes(old: str, new: str) -> list[str]:
    findings = check_surface(
        read_surface({"__init__.py": old.encode()}), read_surface({"__init__.py": new.encode()})
    )
    return [finding.problem for finding in findings]


def test_surface_is_what_the_package_lists() -> None:
    assert surface(OLD, layers=LAYERS) == [
        "Layer",
        "Layer.__init__(self, size)",
        "Layer.forward(self, x)",
        "attention(q, k, v=..., *, scale=..., **options)",
        "layers",
        "layers.Linear",
        "layers.Linear.__init__(self, size)",
        "layers.Linear.forward(self, x)",
        "missing",
    ]


def test_surface_without_a_list_is_every_public_name() -> None:
    source = b"from .a import f\nimport torch\ndef g(x): ...\nclass C: ...\ndef _h(): ...\n"
    assert surface(source, a=b"def f(y): ...\n") == ["C", "f(y)", "g(x)"]


def test_surface_follows_imports_through_packages() -> None:
    files = {
        "__init__.py": b"from .ops.fast import f as g\nfrom .ops import h\n",
        "ops/__init__.py": b"from .fast import f\nfrom ..top import h\n",
        "ops/fast.py": b"def f(x, *rest): ...\n",
        "top.py": b"async def h(y): ...\n",
    }
    assert [str(it) for it in read_surface(files)] == ["g(x, *rest)", "h(y)"]


@pytest.mark.parametrize("source", [b"from .a import f\n", b"from . import x\nf = 1", b"def (:"])
def test_surface_of_odd_packages_does_not_fail(source: bytes) -> None:
    loop = {"__init__.py": source, "a.py": b"from .b import f\n", "b.py": b"from .a import f\n"}
    assert all(entry.parameters is None for entry in read_surface(loop))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        pytest.param("def f(a, b): ...", "def f(a, b): ...", [], id="same"),
        pytest.param("def f(a, b): ...", "def f(a, b, c=0, **kw): ...", [], id="more-options"),
        pytest.param("def f(a): ...", "def f(a): ...\ndef g(): ...", [], id="more-names"),
        pytest.param("def f(a, /): ...", "def f(a): ...", [], id="wider"),
        pytest.param(
            "def f(a, *, n=0): ...", "def f(a, n=0): ...", [], id="keyword-may-be-positional"
        ),
        pytest.param("def f(a): ...", "", ["- f(a)"], id="renamed-attribute"),
        pytest.param(
            "def f(a, b): ...",
            "def f(b, a): ...",
            ["- f(a, b)\n    + f(b, a)  (b stands where a stood)"],
            id="reordered-arguments",
        ),
        pytest.param(
            "def f(a, b=1): ...",
            "def f(a): ...",
            ["- f(a, b=...)\n    + f(a)  (b=... is gone)"],
            id="removed-argument",
        ),
        pytest.param(
            "def f(a): ...",
            "def f(a, b): ...",
            ["- f(a)\n    + f(a, b)  (b is new, and has to be given)"],
            id="new-required-argument",
        ),
        pytest.param(
            "def f(a=1): ...",
            "def f(a): ...",
            ["- f(a=...)\n    + f(a)  (a has to be given now)"],
            id="default-lost",
        ),
        pytest.param(
            "def f(a, n=0): ...",
            "def f(a, *, n=0): ...",
            ["- f(a, n=...)\n    + f(a, *, n=...)  (n was positional, and is keyword-only)"],
            id="narrower",
        ),
        pytest.param("def f(a): ...", "class f: ...", [], id="not-known"),
        pytest.param("def f(*, n=0): ...", "def f(**kw): ...", [], id="any-keyword"),
    ],
)
def test_l14_calls_of_the_old_build_work_with_the_new_one(
    old: str, new: str, found: list[str]
) -> None:
    assert changes(old, new) == found


def test_l14_finding_says_what_to_do() -> None:
    (finding,) = check_surface(read_surface({"__init__.py": b"def f(): ..."}), ())
    assert finding.hint == "keep the old call working, or raise the version in build.toml"

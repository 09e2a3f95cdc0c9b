"""An old manifest, rewritten, says what it said; any document gives a manifest or faults."""

from __future__ import annotations

import json
import tomllib

from hypothesis import example, given
from hypothesis import strategies as st

from kernelmill.builder.rewriting import rewrite
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.manifest import LicenseHint, dumps, parse, read

HINT = LicenseHint(expression="MIT", source="LICENSE")
NAMES = st.from_regex(r"[a-z]{2,4}", fullmatch=True)
COMMENTS = st.sampled_from(["", "  # why", " #"])
GAPS = st.sampled_from(["", "\n", "# of what follows\n", "\n\n# a\n"])
VERSIONS = st.sampled_from(["2.6", "12.4"])


def _text(value: object) -> str:
    return "{}" if value == {} else json.dumps(value)


KERNEL = {"depends": st.just(["torch"]), "src": st.just(["a.cu", "b.cuh"])}
KERNELS_1 = st.fixed_dictionaries(
    KERNEL,
    optional={
        "language": st.sampled_from(["cuda", "cuda-hipify", "metal"]),
        "cuda-capabilities": st.just(["8.0", "9.0a"]),
        "rocm-archs": st.just(["gfx942"]),
        "include": st.just(["."]),
    },
)
KERNELS_2 = st.fixed_dictionaries(
    {**KERNEL, "backend": st.sampled_from(["cpu", "cuda", "metal", "rocm", "xpu"])},
    optional={"include": st.just(["include"]), "cxx-flags": st.just(["-O3"])},
)
EDITION_1 = st.fixed_dictionaries(
    {
        "general": st.fixed_dictionaries({"name": NAMES | st.just("a_b")}),
        "torch": st.fixed_dictionaries(
            {"src": st.just(["t.cpp"])},
            optional={"universal": st.booleans(), "pyext": st.just(["json"])},
        ),
        "kernel": st.dictionaries(NAMES, KERNELS_1, min_size=1, max_size=3),
    }
)
EDITION_2 = st.fixed_dictionaries(
    {
        "general": st.fixed_dictionaries(
            {"name": NAMES},
            optional={
                "universal": st.booleans(),
                "cuda-minver": VERSIONS,
                "cuda-maxver": st.just("13.0"),
                "hub": st.just({"repo-id": "a/b"}),
                "python-depends": st.sampled_from(
                    [["einops"], ["nvidia-cutlass-dsl"], ["nvidia-cutlass-dsl", "einops"]]
                ),
            },
        ),
        "torch": st.fixed_dictionaries({"src": st.just(["t.cpp"])}),
        "kernel": st.dictionaries(NAMES, KERNELS_2, min_size=1, max_size=3),
    }
)
PURE_PYTHON = st.fixed_dictionaries(
    {"general": st.fixed_dictionaries({"name": NAMES, "universal": st.just(value=True)})},
    optional={"torch": st.fixed_dictionaries({}, optional={"pyext": st.just(["json"])})},
)
EDITION_3 = st.fixed_dictionaries(
    {
        "general": st.fixed_dictionaries(
            {"name": NAMES, "backends": st.just(["cuda", "rocm"])},
            optional={"version": st.integers(0, 9), "license": st.just("MIT")},
        )
    },
    optional={"torch": st.just({"src": ["t.cpp"]})},
)
DOCUMENTS = st.one_of(EDITION_1, EDITION_2, PURE_PYTHON, EDITION_3)


def write(data: st.DataObject, document: dict[str, dict[str, object]]) -> str:
    """Return a TOML text of the document, in one of many layouts."""
    tables = []
    for name, table in data.draw(st.permutations(list(document.items()))):
        if name == "kernel":
            style = data.draw(st.sampled_from(["tables", "tables", "inline"]))
            if style == "inline":
                lines = [f"{key} = {_inline(it)}" for key, it in table.items()]
                tables.append("\n".join(["[kernel]", *lines, ""]))
            else:
                tables += [_table(data, f"kernel.{key}", it) for key, it in table.items()]
        else:
            tables.append(_table(data, name, table))
    # So that tables of one kind need not be neighbours.
    return "\n".join(data.draw(st.permutations(tables)))


def _inline(value: object) -> str:
    if not isinstance(value, dict):
        return _text(value)
    return "{ " + ", ".join(f"{key} = {_inline(it)}" for key, it in value.items()) + " }"


def _table(data: st.DataObject, name: str, table: object) -> str:
    assert isinstance(table, dict)
    lines = [f"{data.draw(GAPS)}[{name}]{data.draw(COMMENTS)}"]
    after = []
    for key, value in table.items():
        if isinstance(value, dict) and data.draw(st.booleans()):
            after.append(_table(data, f"{name}.{key}", value))
        else:
            lines.append(f"{data.draw(GAPS)}{key} = {_inline(value)}{data.draw(COMMENTS)}")
    return "\n".join([*lines, data.draw(GAPS), *after])


@given(st.data(), DOCUMENTS)
def test_rewritten_manifest_says_what_the_old_one_did(
    data: st.DataObject, document: dict[str, dict[str, object]]
) -> None:
    text = write(data, document)
    assert tomllib.loads(text) == document
    try:
        reading = read(text, license_hint=HINT)
    except ManifestError as error:
        # Such as [torch] with universal = true and no sources.
        assert error.faults  # noqa: PT017 - both outcomes are right
        return
    assert reading.edition < 5
    rewritten = rewrite(text, reading)
    assert rewritten is not None
    again = read(rewritten)
    assert again.manifest == reading.manifest
    assert (again.edition, again.edits, again.assumed) == (5, (), ())
    assert _comments(text) <= _comments(rewritten)
    assert parse(dumps(reading.manifest)) == reading.manifest


def _comments(text: str) -> set[str]:
    """Return the lines that are comments; one behind a key that goes may go with it."""
    return {line for line in text.splitlines() if line.startswith("#")}


VALUES = st.recursive(
    st.integers() | st.booleans() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        ("general",),
        ("general", "name"),
        ("general", "universal"),
        ("general", "backends"),
        ("general", "python-depends"),
        ("general", "cuda-minver"),
        ("general", "cuda"),
        ("general", "license"),
        ("torch",),
        ("torch", "universal"),
        ("torch", "stable-abi"),
        ("torch-noarch",),
        ("kernel",),
        ("kernel", "aa"),
        ("kernel", "aa", "language"),
        ("kernel", "aa", "backend"),
    ]
)


@given(DOCUMENTS, st.lists(st.tuples(KEYS, VALUES), max_size=2))
@example({"general": {"name": "aa"}}, [(("kernel",), {"aa": {"language": []}})])
def test_any_old_document_gives_a_manifest_or_faults(
    document: dict[str, object], changes: list[tuple[tuple[str, ...], object]]
) -> None:
    for path, value in changes:
        table: object = document
        for key in path[:-1]:
            table = table.setdefault(key, {}) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table[path[-1]] = value
    text = "\n".join(f"{key} = {_inline_quoted(value)}" for key, value in document.items())
    try:
        manifest = read(text, license_hint=HINT).manifest
    except ManifestError as error:
        assert error.faults  # noqa: PT017 - both outcomes are right
    else:
        assert parse(dumps(manifest)) == manifest


def _inline_quoted(value: object) -> str:
    match value:
        case dict():
            items = (f"{json.dumps(key)} = {_inline_quoted(it)}" for key, it in value.items())
            return "{ " + ", ".join(items) + " }"
        case list():
            return "[" + ", ".join(map(_inline_quoted, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return json.dumps(value)

"""Metadata survives the round trip; digests ignore the order of files."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.digest import Digest, compare, digest_files, is_covered
from kernelmill.spec.errors import MetadataError
from kernelmill.spec.metadata import (
    BuildRecord,
    Metadata,
    Provenance,
    SourceState,
    dumps,
    parse,
)
from kernelmill.spec.names import RepoId
from kernelmill.spec.variant import parse_variant

TEXT = st.text(min_size=1).filter(str.strip)
MAYBE_TEXT = st.none() | TEXT
NATURAL = st.integers(0, 2**40)
COMMIT = st.text("0123456789abcdef", min_size=40, max_size=40)
REPO_IDS = st.builds(
    RepoId,
    namespace=st.from_regex(r"[a-z0-9]{1,9}", fullmatch=True),
    name=st.from_regex(r"[a-z0-9]{1,9}", fullmatch=True),
)
DEPENDENCIES = st.builds(KernelDependency, repo_id=REPO_IDS, version=NATURAL) | st.builds(
    KernelDependency, repo_id=REPO_IDS, revision=TEXT
)
CLEAN_OR_DIRTY = {"commit": COMMIT, "is_dirty": st.booleans()}
BUILDERS = st.builds(SourceState, version=TEXT) | st.builds(
    SourceState, version=TEXT, **CLEAN_OR_DIRTY
)
SOURCES = st.just(SourceState()) | st.builds(SourceState, **CLEAN_OR_DIRTY)
STRINGS = st.dictionaries(st.text(), TEXT, max_size=3)
METADATA = st.builds(
    Metadata,
    name=st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,5})?z", fullmatch=True),
    id=TEXT,
    version=NATURAL,
    kernels_minver=st.none() | st.just("0.14.0"),
    license=MAYBE_TEXT,
    upstream=MAYBE_TEXT,
    source=MAYBE_TEXT,
    python_depends=st.lists(TEXT, max_size=3, unique=True).map(tuple),
    kernel_depends=st.lists(DEPENDENCIES, max_size=3, unique=True).map(tuple),
    backend=st.sampled_from(Backend),
    archs=st.none() | st.lists(TEXT, max_size=3, unique=True).map(tuple),
    digest=st.none()
    | st.builds(Digest, algorithm=st.sampled_from(["sha256", "sha512"]), files=STRINGS),
    provenance=st.none() | st.builds(Provenance, kernel_builder=BUILDERS, kernel=SOURCES),
    build=st.none()
    | st.builds(
        BuildRecord,
        mode=st.sampled_from(["develop", "release"]),
        is_cross=st.booleans(),
        compilers=STRINGS,
        inputs=STRINGS,
    ),
)
FILES = st.dictionaries(st.text("ab_./pyc", min_size=1), st.binary(max_size=9), max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *("name", "id", "version", "license", "python-depends", "kernel-depends", "backend"),
    *("digest", "provenance", "kernelmill", "kernels-minver"),
]


@given(METADATA)
def test_metadata_survives_the_round_trip(metadata: Metadata) -> None:
    content = dumps(metadata)
    assert parse(content, where="metadata.json") == metadata
    assert dumps(parse(content, where="metadata.json")) == content


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(), JSON), st.booleans())
def test_any_object_is_read_or_refused_with_one_error(
    document: dict[str, object], old: bool
) -> None:
    variant = parse_variant("torch-cpu") if old else None
    try:
        metadata = parse(json.dumps(document), where="m.json", variant=variant)
    except MetadataError as error:
        assert str(error).startswith("m.json")  # noqa: PT017 - both outcomes are right
    else:
        assert parse(dumps(metadata), where="m.json") == metadata


@given(st.text())
def test_any_text_is_read_or_refused_with_one_error(content: str) -> None:
    try:
        parse(content, where="m.json", variant=parse_variant("torch-cpu"))
    except MetadataError as error:
        assert error.where.startswith("m.json")  # noqa: PT017 - both outcomes are right


@given(st.data(), FILES)
def test_digest_ignores_the_order_of_files(data: st.DataObject, files: dict[str, bytes]) -> None:
    shuffled = data.draw(st.permutations(list(files.items())))
    first, second = digest_files(files.items()), digest_files(shuffled)
    assert first == second
    assert list(first.files) == list(second.files)
    assert compare(first, second) == ()


@given(FILES, st.binary(max_size=9))
def test_digest_notices_every_changed_file(files: dict[str, bytes], content: bytes) -> None:
    before = digest_files(files.items())
    for path, old in files.items():
        changed = files | {path: content}
        kinds = [it.kind for it in compare(before, digest_files(changed.items()))]
        differs = is_covered(path) and old != content
        assert kinds == (["mismatch"] if differs else [])


@given(METADATA, st.sets(st.sampled_from(KEYS)), st.dictionaries(TEXT, JSON, max_size=2))
def test_metadata_without_some_keys_is_that_of_an_old_build(
    metadata: Metadata, lost: set[str], unknown: dict[str, object]
) -> None:
    # L7
    full = json.loads(dumps(metadata))
    kept = {key: value for key, value in full.items() if key not in lost}
    document = {f"x-{key}": value for key, value in unknown.items()} | kept
    variant = parse_variant("torch-rocm")
    old = parse(json.dumps(document), where="metadata.json", variant=variant, name="relu")
    assert set(old.assumed) == {
        key
        for key in ("name", "id", "version", "license", "python-depends", "backend")
        if key not in kept
    }
    assert parse(dumps(old), where="again") == old

"""``metadata.json``."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.digest import Digest
from kernelmill.spec.errors import MetadataError
from kernelmill.spec.metadata import (
    BuildRecord,
    Metadata,
    Provenance,
    SourceState,
    assumed_note,
    dumps,
    parse,
)
from kernelmill.spec.names import RepoId
from kernelmill.spec.variant import Variant, parse_variant

FULL = Metadata(
    name="relu",
    id="_relu_cuda_1a2b3c4",
    version=1,
    kernels_minver="0.14.0",
    license="Apache-2.0",
    upstream="https://example.org/up/relu",
    source="https://example.org/k/relu",
    python_depends=("einops",),
    kernel_depends=(
        KernelDependency(repo_id=RepoId(namespace="org", name="x"), version=1),
        KernelDependency(repo_id=RepoId(namespace="org", name="y"), revision="main"),
    ),
    backend=Backend.CUDA,
    archs=("8.0", "9.0a"),
    digest=Digest(algorithm="sha256", files={"b.so": "Ym8=", "__init__.py": "YWE="}),
    provenance=Provenance(
        kernel_builder=SourceState(version="0.1.0", commit="a" * 40, is_dirty=False),
        kernel=SourceState(commit="b" * 64, is_dirty=True),
    ),
    build=BuildRecord(
        mode="develop",
        is_cross=True,
        compilers={"hip": "clang 21", "cxx": "g++ 14"},
        inputs={"rocm": "00"},
    ),
)
MINIMAL = {
    "name": "relu",
    "id": "_relu_cpu_1",
    "version": 1,
    "license": "MIT",
    "python-depends": [],
    "backend": {"type": "cpu"},
}


def test_metadata_is_written_in_upstreams_form() -> None:
    # Read back by kernels._rust.Metadata of the PyPI package kernels 0.17.2.
    expected = """\
{
  "name": "relu",
  "id": "_relu_cuda_1a2b3c4",
  "version": 1,
  "kernels-minver": "0.14.0",
  "license": "Apache-2.0",
  "upstream": "https://example.org/up/relu",
  "source": "https://example.org/k/relu",
  "python-depends": [
    "einops"
  ],
  "kernel-depends": [
    {
      "repo-id": "org/x",
      "version": 1
    },
    {
      "repo-id": "org/y",
      "revision": "main"
    }
  ],
  "backend": {
    "type": "cuda",
    "archs": [
      "8.0",
      "9.0a"
    ]
  },
  "digest": {
    "algorithm": "sha256",
    "files": {
      "__init__.py": "YWE=",
      "b.so": "Ym8="
    }
  },
  "provenance": {
    "kernel-builder": {
      "version": "0.1.0",
      "commit": "COMMIT",
      "dirty": false
    },
    "kernel": {
      "commit": "KERNEL_COMMIT",
      "dirty": true
    }
  },
  "kernelmill": {
    "mode": "develop",
    "cross": true,
    "compilers": {
      "cxx": "g++ 14",
      "hip": "clang 21"
    },
    "inputs": {
      "rocm": "00"
    }
  }
}
"""
    expected = expected.replace("KERNEL_COMMIT", "b" * 64).replace("COMMIT", "a" * 40)
    assert dumps(FULL) == expected


def test_metadata_survives_the_round_trip_when_full() -> None:
    assert parse(dumps(FULL), where="metadata.json") == FULL


def test_metadata_leaves_out_what_is_not_known() -> None:
    metadata = parse(json.dumps(MINIMAL), where="metadata.json")
    assert json.loads(dumps(metadata)) == MINIMAL | {"kernel-depends": []}
    assert metadata.archs is None
    assert metadata.assumed == ()


def test_metadata_ignores_unknown_keys_and_nulls() -> None:
    nulls = dict.fromkeys(["kernels-minver", "upstream", "source", "digest", "provenance"])
    document = MINIMAL | nulls | {"surprise": [1], "backend": {"type": "cpu", "new": 1}}
    plain = parse(json.dumps(MINIMAL), where="metadata.json")
    assert parse(json.dumps(document), where="metadata.json") == plain


def test_metadata_reads_the_old_name_of_commit() -> None:
    state = {"version": "0.9.0", "sha": "A" * 40, "dirty": True}
    document = MINIMAL | {"provenance": {"kernel-builder": state}}
    provenance = parse(json.dumps(document), where="metadata.json").provenance
    assert provenance == Provenance(
        kernel_builder=SourceState(version="0.9.0", commit="a" * 40, is_dirty=True),
        kernel=SourceState(),
    )


def test_metadata_reads_a_name_that_a_hub_would_refuse() -> None:
    document = MINIMAL | {"name": "my--kernel"}
    assert parse(json.dumps(document), where="metadata.json").name == "my--kernel"


@pytest.mark.parametrize(
    ("variant", "backend"),
    [
        ("torch28-cxx11-cu126-x86_64-linux", Backend.CUDA),
        ("torch28-cxx11-rocm63-x86_64-linux", Backend.ROCM),
        ("torch-npu", Backend.CANN),
        ("torch-universal", Backend.CPU),
    ],
)
def test_old_metadata_gets_defaults_when_the_variant_is_known(
    variant: str, backend: Backend
) -> None:
    content = '{"version": 2, "license": "MIT", "python-depends": ["einops"]}'
    metadata = parse(
        content,
        where=f"org/Re_Lu/build/{variant}/metadata.json",
        variant=parse_variant(variant),
        name="Re_Lu",
    )
    assert (metadata.name, metadata.version, metadata.license) == ("re-lu", 2, "MIT")
    assert metadata.backend is backend
    assert metadata.id.startswith(f"_re_lu_{backend}_")
    assert metadata.assumed == ("name", "id", "backend")
    assert assumed_note(metadata) == (
        "an old build, whose metadata lacks name, id, backend: defaults are used"
    )
    assert parse(dumps(metadata), where="again") == metadata


@pytest.mark.parametrize(
    ("content", "assumed"),
    [
        pytest.param(
            "{}", ("name", "id", "version", "license", "python-depends", "backend"), id="empty"
        ),
        pytest.param(
            '{"python-depends": []}', ("name", "id", "version", "license", "backend"), id="first"
        ),
        pytest.param(
            '{"version": 1, "license": "MIT", "python-depends": [], "backend": {"type": "cuda"}}',
            ("name", "id"),
            id="with-backend",
        ),
        pytest.param(
            '{"name": "relu", "id": "_relu_cuda_1", "version": 1, "license": "MIT", "new": {}, '
            '"python-depends": [], "backend": {"type": "cuda", "archs": ["8.0"], "x": 1}}',
            (),
            id="today",
        ),
    ],
)
def test_metadata_of_every_age_is_read(content: str, assumed: tuple[str, ...]) -> None:
    # L7
    where = "build/torch-cuda/metadata.json"
    metadata = parse(content, where=where, variant=parse_variant("torch-cuda"), name="relu")
    assert metadata.assumed == assumed
    assert bool(assumed_note(metadata)) is bool(assumed)
    assert (metadata.name, metadata.backend) == ("relu", Backend.CUDA)
    assert parse(dumps(metadata), where="again") == metadata


def test_old_metadata_gets_an_id_of_its_own_in_each_place() -> None:
    ids = {
        parse("{}", where=where, variant=parse_variant(variant)).id
        for where in ("a/metadata.json", "b/metadata.json")
        for variant in ("torch-cpu", "torch-universal")
    }
    assert len(ids) == 4


def test_old_metadata_is_refused_when_nothing_is_known_of_it() -> None:
    with pytest.raises(MetadataError) as caught:
        parse('{"version": 1, "license": "MIT", "python-depends": []}', where="metadata.json")
    assert str(caught.value) == "metadata.json: missing key 'backend'"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "m.json name: 3 is a number\n  hint: write a string"),
        ({"name": "Relu"}, "m.json name: invalid kernel name 'Relu'\n  hint: start with a-z"),
        ({"id": ""}, "m.json id: empty string\n  hint: write a value or remove the key"),
        ({"version": "1"}, "m.json version: '1' is a string\n  hint: write a whole number"),
        ({"version": True}, "m.json version: True is true or false"),
        ({"version": -1}, "m.json version: -1 is negative"),
        ({"python-depends": "einops"}, "m.json python-depends: 'einops' is a string"),
        ({"python-depends": [1]}, "m.json python-depends[0]: 1 is a number"),
        ({"backend": "cpu"}, "m.json backend: 'cpu' is a string\n  hint: write a table"),
        ({"backend": {}}, "m.json backend: missing key 'type'"),
        ({"backend": {"type": "gpu"}}, "m.json backend.type: unknown backend 'gpu'"),
        (
            {"backend": {"type": "rocm", "archs": [942]}},
            "m.json backend.archs[0]: 942 is a number",
        ),
        ({"kernels-minver": "0.14"}, "m.json kernels-minver: '0.14' is not a version"),
        (
            {"kernel-depends": [{"repo-id": "a/b"}]},
            "m.json kernel-depends[0]: either version or revision must be given",
        ),
        (
            {"kernel-depends": [{"repo-id": "a/b", "version": 1, "revision": "x"}]},
            "m.json kernel-depends[0]: version and revision are mutually exclusive",
        ),
        (
            {"kernel-depends": [{"repo-id": "ab", "version": 1}]},
            "m.json kernel-depends[0].repo-id: 'ab' is not a repository id",
        ),
        (
            {"digest": {"algorithm": "md5", "files": {}}},
            "m.json digest.algorithm: unknown digest algorithm 'md5'",
        ),
        (
            {"digest": {"algorithm": "sha256", "files": {"a": 1}}},
            "m.json digest.files.a: 1 is a number",
        ),
        (
            {"provenance": {"kernel-builder": {"version": "1", "commit": "a" * 40}}},
            "m.json provenance.kernel-builder: commit and dirty must be given together",
        ),
        (
            {"provenance": {"kernel-builder": {"commit": "a" * 40, "dirty": False}}},
            "m.json provenance.kernel-builder: missing key 'version'",
        ),
        (
            {"provenance": {"kernel-builder": {"version": "1", "commit": "abc", "dirty": False}}},
            "m.json provenance.kernel-builder.commit: 'abc' is not a git object id",
        ),
        (
            {"kernelmill": {"mode": "fast", "cross": False}},
            "m.json kernelmill.mode: unknown build mode 'fast'",
        ),
    ],
)
def test_metadata_error_names_file_and_key(change: dict[str, object], message: str) -> None:
    with pytest.raises(MetadataError) as caught:
        parse(json.dumps(MINIMAL | change), where="m.json")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not valid JSON: Expecting property name"),
        ("", "not valid JSON: Expecting value"),
        ("[" * 100_000, "not valid JSON: "),
        ("[]", "[] is an array"),
        ("null", "None is null"),
    ],
    ids=["cut", "empty", "deep", "array", "null"],
)
@pytest.mark.parametrize("variant", [None, parse_variant("torch-cpu")], ids=["new", "old"])
def test_metadata_is_refused_when_it_is_no_json_object(
    content: str, problem: str, variant: Variant | None
) -> None:
    with pytest.raises(MetadataError) as caught:
        parse(content, where="m.json", variant=variant)
    assert caught.value.problem.startswith(problem)
    assert caught.value.where.startswith("m.json")
    assert caught.value.exit_code == 2


def test_metadata_does_not_compare_what_was_assumed() -> None:
    assert replace(FULL, assumed=("id",)) == FULL

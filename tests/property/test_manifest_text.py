"""Manifests survive the round trip; every text gives a manifest or a list of faults."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.spec.backend import Backend
from kernelmill.spec.dependencies import KernelDependency
from kernelmill.spec.errors import ManifestError
from kernelmill.spec.manifest import (
    CudaGeneral,
    General,
    HubTarget,
    Kernel,
    Manifest,
    Torch,
    TorchNoarch,
    TvmFfi,
    dumps,
    parse,
)
from kernelmill.spec.names import KernelName, RepoId
from kernelmill.spec.toml_lines import key_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TEXT = st.text(min_size=1).filter(str.strip)
FLAGS = st.lists(TEXT, max_size=2).map(tuple)
NAME = st.from_regex(r"[a-z][a-z0-9]{1,6}", fullmatch=True)
PATH = st.from_regex(r"[a-z]{1,4}(/[a-z é+-]{1,4}x){0,2}\.hip", fullmatch=True)
PATHS = st.lists(PATH, max_size=3, unique=True).map(tuple)
SOURCES = st.lists(PATH, min_size=1, max_size=3, unique=True).map(tuple)
VERSION = st.none() | st.tuples(st.integers(0, 30), st.integers(0, 30))
REPO_IDS = st.builds(RepoId, namespace=NAME, name=NAME)
KERNEL_DEPENDS = st.lists(
    st.builds(KernelDependency, repo_id=REPO_IDS, version=st.integers(0, 99))
    | st.builds(KernelDependency, repo_id=REPO_IDS, revision=TEXT),
    max_size=2,
    unique_by=lambda it: it.repo_id,
).map(tuple)
EXTENSIONS = st.lists(st.sampled_from(["json", "txt"]), unique=True).map(tuple)
ARCHS = st.lists(st.sampled_from(["gfx942", "gfx90a", "gfx1201"]), unique=True).map(tuple)
COMMON = {
    "depends": st.lists(st.sampled_from(["torch", "cutlass_4_0"]), unique=True).map(tuple),
    "src": SOURCES,
    "include": PATHS,
    "cxx_flags": FLAGS,
}
BACKENDS = (Backend.CPU, Backend.CUDA, Backend.ROCM, Backend.XPU)
KERNELS = st.lists(
    st.one_of(
        st.builds(Kernel, name=NAME, backend=st.just(Backend.CPU), **COMMON),
        st.builds(
            Kernel,
            name=NAME,
            backend=st.just(Backend.ROCM),
            rocm_archs=ARCHS,
            hip_flags=FLAGS,
            **COMMON,
        ),
        st.builds(
            Kernel,
            name=NAME,
            backend=st.just(Backend.CUDA),
            cuda_capabilities=st.sampled_from([(), ("9.0a",), ("8.0", "12.0+PTX")]),
            cuda_flags=FLAGS,
            cuda_minver=VERSION,
            **COMMON,
        ),
        st.builds(Kernel, name=NAME, backend=st.just(Backend.XPU), sycl_flags=FLAGS, **COMMON),
    ),
    max_size=3,
    unique_by=lambda it: it.name,
).map(tuple)
GENERAL = st.builds(
    General,
    name=NAME.map(lambda it: KernelName(value=it)),
    version=st.integers(0, 99),
    license=TEXT,
    upstream=st.none() | st.just("https://example.org/a"),
    backends=st.permutations(BACKENDS).map(tuple),
    python_depends=st.sampled_from([(), ("einops", "helion")]),
    kernel_depends=KERNEL_DEPENDS,
    hub=st.builds(HubTarget, repo_id=st.none() | REPO_IDS, branch=st.none() | TEXT),
    cuda=st.none() | st.builds(CudaGeneral, minver=VERSION, kernel_depends=KERNEL_DEPENDS),
)
TORCH = st.builds(
    Torch,
    include=PATHS,
    maxver=VERSION,
    pyext=EXTENSIONS,
    src=SOURCES,
    stable_abi=st.dictionaries(
        st.sampled_from(BACKENDS), st.tuples(st.integers(2, 9), st.integers(0, 30)), max_size=3
    ),
    cxx_flags=FLAGS,
)
MANIFESTS = st.builds(
    Manifest,
    edition=st.just(5),
    general=GENERAL,
    framework=TORCH | st.builds(TvmFfi, include=PATHS, src=SOURCES, cxx_flags=FLAGS),
    kernels=KERNELS,
) | st.builds(
    Manifest,
    edition=st.just(5),
    general=GENERAL,
    framework=st.builds(TorchNoarch, pyext=EXTENSIONS, rocm_archs=ARCHS),
    kernels=st.just(()),
)

VALUES = st.recursive(
    st.integers() | st.booleans() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GOOD = """\
[general]
name = "gemm"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu", "rocm"]
[torch]
src = ["a.cpp"]
[kernel.gemm]
backend = "rocm"
depends = ["torch"]
src = ["gemm.hip"]
"""


def _toml(value: object) -> str:
    match value:
        case bool() | int():
            return str(value).lower()
        case list():
            return "[" + ",\n".join(map(_toml, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_toml(key)} = {_toml(it)}" for key, it in value.items()) + "}"
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items: Mapping[str, object] | dict[int, object]
    items = value if isinstance(value, dict) else {}
    if isinstance(value, list):
        items = dict(enumerate(value))
    for key, item in items.items():
        yield (*path, key)
        yield from _paths(item, (*path, key))


@given(MANIFESTS)
def test_manifest_survives_the_round_trip(manifest: Manifest) -> None:
    text = dumps(manifest)
    assert parse(text) == manifest
    assert dumps(parse(text)) == text


@given(
    st.sampled_from(["", "general.", "torch.", "kernel.gemm.", "general.cuda."]),
    st.sampled_from([*re.findall(r"[a-z-]+(?= =)", GOOD), "rocm-archs", "stable-abi", "x"]),
    VALUES,
)
def test_any_value_gives_a_manifest_or_faults_with_lines(
    table: str, key: str, value: object
) -> None:
    # "key = value" in front of the tables: tomllib refuses it where the table has the key.
    kept = re.sub(rf"(?m)^{key} = .*\n", "", GOOD)
    content = re.sub(
        rf"(?m)^\[{re.escape(table[:-1])}\]\n", lambda it: f"{it[0]}{key} = {_toml(value)}\n", kept
    )
    try:
        parse(content, where="f")
    except ManifestError as error:
        assert error.faults  # noqa: PT017 - both outcomes are right
        for fault in error.faults:
            assert re.match(r"f(:\d+)?( |$)", fault.where)


@given(st.text() | st.text("[]{}=\"'#.,\n\\ ab1").map(lambda it: f"{GOOD}{it}"))
def test_any_text_gives_a_manifest_or_faults(content: str) -> None:
    try:
        manifest = parse(content)
    except ManifestError as error:
        assert error.faults  # noqa: PT017 - both outcomes are right
    else:
        assert parse(dumps(manifest)) == manifest


@given(st.text("[]{}=\"'#.,\n\\ ab1"))
def test_every_key_of_a_valid_text_has_a_line(content: str) -> None:
    try:
        document = tomllib.loads(content)
    except tomllib.TOMLDecodeError:
        return
    lines = key_lines(content)
    assert set(_paths(document)) == set(lines)
    assert all(1 <= it <= content.count("\n") + 1 for it in lines.values())


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.integers(0, 3))
def test_key_has_the_line_it_was_written_on(values: dict[str, object], gap: int) -> None:
    content, expected = "\n" * gap, {}
    for key, value in values.items():
        expected[key,] = content.count("\n") + 1
        content += f"{_toml(key)} = {_toml(value)} # {gap}\n"
    document = tomllib.loads(content)
    lines = key_lines(content)
    assert set(_paths(document)) == set(lines)
    assert {path: line for path, line in lines.items() if len(path) == 1} == expected

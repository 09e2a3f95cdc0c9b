"""Names of variants survive the round trip; the resolver depends on nothing but its input."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import assume, example, given
from hypothesis import strategies as st

from kernelmill.spec.backend import Backend
from kernelmill.spec.errors import InvalidVariant, InvalidVersion
from kernelmill.spec.host import Host
from kernelmill.spec.resolve import no_variant, resolve, trace_text
from kernelmill.spec.variant import (
    ArchVariant,
    Compute,
    Framework,
    NoarchVariant,
    Variant,
    parse_variant,
)
from kernelmill.spec.version import parse_major_minor, parse_release

MINOR = st.integers(0, 40)


def _compute(backend: Backend, majors: st.SearchStrategy[int]) -> st.SearchStrategy[Compute]:
    return st.builds(Compute, backend=st.just(backend), version=st.tuples(majors, MINOR))


FRAMEWORKS = st.one_of(
    st.builds(
        Framework,
        kind=st.just("torch"),
        version=st.tuples(st.integers(1, 9), MINOR),
        cxx11_abi=st.sampled_from([None, True, False]),
    ),
    st.builds(
        Framework,
        kind=st.sampled_from(["torch-stable-abi", "tvm-ffi"]),
        version=st.tuples(st.integers(0, 9), MINOR),
        cxx11_abi=st.none(),
    ),
)
COMPUTES = st.one_of(
    st.builds(
        Compute,
        backend=st.sampled_from([Backend.CPU, Backend.METAL, Backend.NEURON, Backend.TPU]),
        version=st.none(),
    ),
    _compute(Backend.CUDA, st.integers(10, 99)),
    _compute(Backend.ROCM, st.integers(4, 39)),
    _compute(Backend.CANN, st.integers(4, 39)),
    _compute(Backend.XPU, st.integers(2020, 2040)),
)
VARIANTS: st.SearchStrategy[Variant] = st.one_of(
    st.builds(
        ArchVariant,
        framework=FRAMEWORKS,
        compute=COMPUTES,
        cpu=st.sampled_from(["x86_64", "aarch64"]),
        os=st.sampled_from(["linux", "darwin", "windows"]),
    ),
    st.builds(
        NoarchVariant, name=st.sampled_from([*(it.value for it in Backend), "npu", "universal"])
    ),
)
# Few values on purpose, so that many variants fit many hosts.
LIKELY_NAMES = st.sampled_from(
    [
        f"{framework}-{compute}-{cpu}-linux"
        for framework in (
            "torch213",
            "torch213-cxx11",
            "torch212-cxx11",
            "torch-stable-abi29",
            "torch-stable-abi213",
            "tvm-ffi01",
        )
        for compute in ("cpu", "cu126", "cu128", "cu130", "rocm71", "rocm714")
        for cpu in ("x86_64", "aarch64")
    ]
    + ["torch-cpu", "torch-cuda", "torch-rocm", "torch-universal", "README.md", "old"]
)
HOSTS = st.builds(
    Host,
    cpu=st.sampled_from(["x86_64", "aarch64"]),
    os=st.just("linux"),
    backend=st.sampled_from([Backend.CPU, Backend.CUDA, Backend.ROCM]),
    backend_version=st.sampled_from([(12, 8), (13, 0), (7, 1), (7, 14), None]),
    torch=st.sampled_from(["2.13.0", "2.12.1", "2.13.0.dev20260701"]).map(
        lambda it: parse_release(it, what="PyTorch")
    )
    | st.none(),
    cxx11_abi=st.sampled_from([True, False, None]),
    tvm_ffi=st.sampled_from([(0, 1), None]),
    is_free_threaded=st.booleans(),
    python=st.sampled_from([(3, 11), (3, 15)]),
)


@given(VARIANTS)
def test_variant_survives_the_round_trip(variant: Variant) -> None:
    assert parse_variant(str(variant)) == variant


@given(st.text() | st.from_regex(r"torch[0-9]{1,4}(-cxx11)?-[a-z]{2,4}[0-9]{0,6}-x86_64-linux\n?"))
@example("torch213-cu128-x86_64-linux")
def test_variant_name_is_kept_or_refused(text: str) -> None:
    try:
        variant = parse_variant(text)
    except InvalidVariant:
        return
    assert str(variant) == text


@given(st.text() | st.from_regex(r"v?[0-9]{1,12}\.[0-9]{1,12}.*"))
def test_release_is_read_or_refused_with_one_error(text: str) -> None:
    try:
        release = parse_release(text, what="PyTorch")
    except InvalidVersion as error:
        assert repr(text) in error.problem  # noqa: PT017 - both outcomes are right
    else:
        assert release.text == text


@given(MINOR, MINOR, st.sampled_from(["", ".1", ".0+cpu", ".0.dev20260701+rocm7.1", "rc1"]))
def test_release_series_is_the_leading_numbers(major: int, minor: int, rest: str) -> None:
    assert parse_release(f"{major}.{minor}{rest}", what="PyTorch").series == (major, minor)


@given(MINOR, MINOR)
def test_major_minor_survives_the_round_trip(major: int, minor: int) -> None:
    assert parse_major_minor(f"{major}.{minor}", where="") == (major, minor)


@given(st.data(), st.lists(LIKELY_NAMES, max_size=12), HOSTS)
def test_resolution_ignores_order_and_repetition(
    data: st.DataObject, names: list[str], host: Host
) -> None:
    shuffled = data.draw(st.permutations(names + names[:2]))
    assert resolve(shuffled, host) == resolve(names, host)


@given(st.lists(LIKELY_NAMES, max_size=12), LIKELY_NAMES, HOSTS)
def test_incompatible_variant_never_changes_the_choice(
    names: list[str], extra: str, host: Host
) -> None:
    assume(resolve([extra], host).chosen is None)
    assert resolve([*names, extra], host).chosen == resolve(names, host).chosen


@given(st.lists(LIKELY_NAMES, max_size=12), HOSTS)
def test_choice_fits_and_everything_else_is_accounted_for(names: list[str], host: Host) -> None:
    resolution = resolve(names, host)
    seen = [str(it.variant) for it in resolution.trace] + list(resolution.skipped)
    assert sorted(seen) == sorted(set(names))
    fitting = [it.variant for it in resolution.trace if not it.objection]
    assert resolution.chosen == (fitting[0] if fitting else None)
    assert trace_text(resolution).count("preferred ✅") == bool(fitting)


@given(st.lists(LIKELY_NAMES, max_size=12), HOSTS)
def test_cuda_build_never_crosses_the_major(names: list[str], host: Host) -> None:
    chosen = resolve(names, host).chosen
    if isinstance(chosen, ArchVariant):
        assert chosen.compute.backend == host.backend
        if chosen.compute.version and host.backend_version:
            assert chosen.compute.version[0] == host.backend_version[0]
            assert chosen.compute.version <= host.backend_version


@given(st.lists(LIKELY_NAMES, max_size=12), HOSTS)
def test_error_has_one_hint_when_nothing_fits(names: list[str], host: Host) -> None:
    resolution = resolve(names, host)
    assume(resolution.chosen is None)
    error = no_variant(resolution, repo="a/b", revision="main", host=host)
    assert trace_text(resolution) in error.problem
    assert error.hint


@given(st.lists(VARIANTS.map(str), max_size=8), HOSTS)
def test_order_of_two_variants_is_theirs_alone(names: list[str], host: Host) -> None:
    # V2, V7: the order is total, whatever the names.
    trace = [str(it.variant) for it in resolve(names, host).trace]
    assert sorted(trace) == sorted(set(names))
    for first, second in pairwise(trace):
        assert [str(it.variant) for it in resolve([second, first], host).trace] == [first, second]

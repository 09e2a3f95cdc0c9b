from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.runtime.bundles_format import Bundle, BundledKernel, dumps, parse
from kernelmill.runtime.export import choose_for, host_of
from kernelmill.spec.names import RepoId
from kernelmill.spec.resolve import resolve
from kernelmill.spec.variant import ArchVariant, parse_variant

HEX = "0123456789abcdef"
REPOS = st.builds(RepoId, namespace=st.sampled_from(["acme", "a"]), name=st.sampled_from("xyz"))
COMMITS = st.text(HEX, min_size=40, max_size=40)
KERNELS = st.builds(BundledKernel, repo_id=REPOS, version=st.integers(0, 9), commit=COMMITS)
NAMES = st.text("abz._-é", min_size=1, max_size=5).filter(lambda it: it not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
FILES = st.dictionaries(PATHS, st.text(HEX, min_size=64, max_size=64), max_size=5)

FRAMEWORKS = ["torch29-cxx11", "torch213-cxx11", "torch-stable-abi29", "torch-stable-abi213"]
COMPUTES = ["cpu", "cu126", "cu128", "cu130", "rocm71"]
COMPILED = st.builds(
    "{}-{}-{}-linux".format,
    st.sampled_from([*FRAMEWORKS, "tvm-ffi01"]),
    st.sampled_from(COMPUTES),
    st.sampled_from(["x86_64", "aarch64"]),
)
PYTHON = st.sampled_from(["torch-cpu", "torch-cuda", "torch-rocm", "torch-universal"])
BUILDS = st.lists(COMPILED | PYTHON, min_size=1, max_size=8, unique=True)


@given(st.lists(KERNELS, max_size=4, unique_by=lambda it: (str(it.repo_id), it.version)), FILES)
def test_what_is_written_is_read_back(kernels: list[BundledKernel], files: dict[str, str]) -> None:
    text = dumps(Bundle(kernels=tuple(kernels), files=files))
    bundle = parse(text)
    assert sorted(map(str, bundle.kernels)) == sorted(map(str, kernels))
    assert bundle.files == files
    assert dumps(bundle) == text


@given(COMPILED, BUILDS)
def test_chosen_build_runs_where_the_target_does(target: str, names: list[str]) -> None:
    """Whatever is chosen, the least machine that runs the target accepts it."""
    wanted = parse_variant(target)
    assert isinstance(wanted, ArchVariant)
    chosen = choose_for(wanted, names)
    assert choose_for(wanted, names[::-1]) == chosen
    if chosen is None:
        assert target not in names
        assert "torch-universal" not in names
    else:
        assert str(resolve([chosen], host_of(wanted)).chosen) == chosen

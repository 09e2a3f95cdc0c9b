from __future__ import annotations

import tomllib
from importlib import resources

import pytest
from tests.unit.builder.fakes import MANIFEST

from kernelmill.builder.errors import PlanError
from kernelmill.builder.matrix import Matrix, Series, load_matrix, pick_series, rows_of
from kernelmill.builder.sources import torch_table
from kernelmill.spec.backend import Backend
from kernelmill.spec.manifest import Torch, parse
from kernelmill.spec.variant import Compute

CPU = Compute(backend=Backend.CPU, version=None)
WIDE = Matrix(
    default_rocm=(7, 1),
    default_cuda=(13, 0),
    cuda_archs={(13, 0): ("9.0",)},
    series=tuple(
        Series(version=(2, minor), release=f"2.{minor}.0", computes=(CPU,))
        for minor in range(9, 15)
    ),
    platforms={Backend.CPU: ("x86_64-linux",)},
)
"""PyTorch 2.9 to 2.14."""


def names(text: str, matrix: Matrix | None = None, backends: str = "cpu rocm") -> list[str]:
    manifest = parse(text)
    torch, matrix = torch_table(manifest), matrix or load_matrix()
    rows = rows_of(
        matrix,
        manifest,
        torch,
        pick_series(matrix, torch, None),
        backends=[Backend(it) for it in backends.split()],
    )
    return [str(row.variant) for row in rows]


@pytest.mark.parametrize(
    ("minver", "maxver", "asked", "minors"),
    [
        pytest.param((2, 10), (2, 12), None, [10, 11, 12], id="the-manifests"),
        pytest.param((2, 10), (2, 12), [(2, 12), (2, 10)], [10, 12], id="those-asked-for"),
        pytest.param(None, None, [(2, 9), (2, 14)], [9, 14], id="ends"),
        pytest.param((2, 13), None, None, [13, 14], id="from"),
        pytest.param(None, (2, 9), None, [9], id="up-to"),
        pytest.param(None, None, None, [9, 10, 11, 12, 13, 14], id="all"),
    ],
)
def test_m7_exactly_the_wanted_versions_of_torch_are_built(
    minver: tuple[int, int] | None,
    maxver: tuple[int, int] | None,
    asked: list[tuple[int, int]] | None,
    minors: list[int],
) -> None:
    chosen = pick_series(WIDE, Torch(src=(), minver=minver, maxver=maxver), asked)
    assert [it.version for it in chosen] == [(2, minor) for minor in minors]


@pytest.mark.parametrize(
    ("minver", "maxver", "asked", "text"),
    [
        pytest.param((2, 15), None, None, "torch from 2.15: the matrix has none", id="new"),
        pytest.param(None, (2, 8), None, "torch up to 2.8: the matrix has none", id="old"),
        pytest.param(
            (2, 10), (2, 12), [(2, 11), (2, 13)], "from 2.10 up to 2.12, not 2.13", id="unwanted"
        ),
        pytest.param(None, None, [(2, 20)], "no torch 2.20 in the matrix", id="unknown"),
        pytest.param(None, None, [], "of any version: the matrix has none", id="none-asked"),
    ],
)
def test_m7_nothing_to_build_is_an_error(
    minver: tuple[int, int] | None,
    maxver: tuple[int, int] | None,
    asked: list[tuple[int, int]] | None,
    text: str,
) -> None:
    with pytest.raises(PlanError) as caught:
        pick_series(
            WIDE, Torch(src=(), minver=minver, maxver=maxver), asked, where="build.toml:8 torch"
        )
    assert text in caught.value.problem
    assert caught.value.hint in {
        "known: 2.9, 2.10, 2.11, 2.12, 2.13, 2.14",
        "leave it out of --torch",
    }


def test_matrix_has_upstreams_list_and_ours() -> None:
    series = {it.version: {str(c) for c in it.computes} for it in load_matrix().series}
    upstream = {"cpu", "cu126", "cu130", "cu132", "rocm71", "rocm72"}
    assert upstream <= series[2, 12]
    assert upstream <= series[2, 13]
    assert {"cpu", "rocm64", "rocm71"} <= series[2, 11]
    assert load_matrix().series[0].sdk == "torch-2.11.0"


def test_matrix_file_is_the_only_list_and_names_real_backends() -> None:
    text = (resources.files("kernelmill.builder") / "data/matrix.toml").read_text("utf-8")
    document = tomllib.loads(text)
    assert set(document) == {"cuda", "rocm", "platforms", "torch"}
    for entry in document["torch"].values():
        assert set(entry) - {"release"} <= set(document["platforms"])


def test_rows_are_backends_times_versions_times_torch_times_platforms() -> None:
    found = names(MANIFEST)
    assert "torch211-cxx11-cpu-aarch64-linux" in found
    assert "torch213-cxx11-rocm64-x86_64-linux" in found
    assert "torch213-cxx11-rocm64-aarch64-linux" not in found
    assert len(found) == len(set(found)) == 3 * (2 + 3)


def test_rows_name_no_string_abi_off_linux() -> None:
    metal = MANIFEST.replace('["cpu", "rocm"]', '["metal"]').partition("\n[kernel")[0]
    assert "torch212-metal-aarch64-darwin" in names(metal, backends="metal")


def test_stable_abi_is_one_row_for_every_torch() -> None:
    text = MANIFEST.replace("[torch]\n", '[torch]\nstable-abi = "2.12"\n')
    manifest = parse(text)
    torch, matrix = torch_table(manifest), load_matrix()
    rows = rows_of(
        matrix, manifest, torch, pick_series(matrix, torch, None), backends=[Backend.ROCM]
    )
    assert {str(row.variant): row.series.sdk for row in rows} == {
        f"torch-stable-abi212-{rocm}-x86_64-linux": "torch-2.12.0"
        for rocm in ("rocm64", "rocm71", "rocm72")
    }


def test_rows_keep_to_the_manifests_cuda_versions() -> None:
    text = MANIFEST.replace('["cpu", "rocm"]', '["cuda"]').partition("\n[kernel")[0]
    text += '\n[general.cuda]\nminver = "13.0"\nmaxver = "13.0"\n'
    assert set(names(text, backends="cuda")) == {
        f"torch2{minor}-cxx11-cu130-{cpu}-linux"
        for minor in (11, 12, 13)
        for cpu in ("x86_64", "aarch64")
    }


def test_installed_torch_is_part_of_the_matrix() -> None:
    matrix = load_matrix().with_torch((2, 14))
    assert matrix.series[-1].sdk == "torch-2.14"
    assert matrix.series[-1].computes == matrix.series[-2].computes
    assert load_matrix().with_torch((2, 12)) == load_matrix()

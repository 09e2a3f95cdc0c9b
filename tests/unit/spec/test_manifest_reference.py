"""The reference of ``build.toml`` is written from the code."""

from __future__ import annotations

import runpy
from pathlib import Path

from kernelmill.spec.manifest import parse

DOCS = Path(__file__).parents[3] / "docs"


def test_reference_is_up_to_date() -> None:
    names = runpy.run_path(str(DOCS / "generate_manifest.py"))
    rendered = names["render"]()
    assert (DOCS / "manifest.md").read_text(encoding="utf-8") == rendered, (
        "run docs/generate_manifest.py"
    )


def test_example_of_the_reference_is_a_manifest() -> None:
    names = runpy.run_path(str(DOCS / "generate_manifest.py"))
    manifest = parse(names["EXAMPLE"])
    assert [it.name for it in manifest.kernels] == ["gemm_rocm", "gemm_cpu"]

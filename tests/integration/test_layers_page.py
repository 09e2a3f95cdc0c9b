"""The scripts of docs/layers.md do what the page says."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.markdown import read_blocks, run_page


def test_page_runs_as_written(tmp_path: Path, root: Path) -> None:
    page = root / "docs" / "layers.md"
    kernel, metadata, model = (block.body for block in read_blocks(page)[:3])
    build = tmp_path / "fast-scale/build/torch-cpu"
    build.mkdir(parents=True)
    (build / "__init__.py").write_text("from . import layers\n")
    (build / "layers.py").write_text(kernel)
    (build / "metadata.json").write_text(metadata)
    home = "from kernelmill.runtime.layers import"
    (tmp_path / "model.py").write_text(model.replace("from kernels import", home))
    env = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONPATH": str(root / "src"),
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    count = run_page(
        page, folder=tmp_path, root=root, env=env, replace={"from kernels import": home}
    )
    assert count == 4

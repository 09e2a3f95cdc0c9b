"""C11: a container's limits count, wherever in the tree of control groups they are set."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelmill.builder.toolchain.host import control_groups, limited_cores, limited_memory


@pytest.mark.parametrize(
    ("membership", "names"),
    [
        pytest.param("0::/\n", ["."], id="own-namespace"),
        pytest.param("0::/a.slice/b.scope\n", [".", "a.slice", "a.slice/b.scope"], id="nested"),
        pytest.param("12:cpu:/x\n0::/../a\n", [".", "a"], id="outside-of-the-namespace"),
        pytest.param("", ["."], id="none"),
    ],
)
def test_control_groups(membership: str, names: list[str]) -> None:
    root = Path("/sys/fs/cgroup")
    assert control_groups(membership, root) == tuple(root / name for name in names)


def test_the_tightest_limit_counts(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    for folder, quota, limit in ((tmp_path, "max", "max"), (inner, "250000", "3000")):
        (folder / "cpu.max").write_text(f"{quota} 100000\n")
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("1000\n")
    groups = (tmp_path, inner)
    assert (limited_cores(16, groups), limited_memory(10_000, groups)) == (2, 2000)
    assert (limited_cores(16, groups[:1]), limited_memory(10_000, groups[:1])) == (16, 10_000)
    assert limited_cores(1, groups) == 1

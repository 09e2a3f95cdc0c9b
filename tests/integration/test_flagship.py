"""The flagship, built, published, and loaded: by us and by Hugging Face's own client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from demo.hub import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPOSITORY = "kernels-community/gemm"

LOAD_AND_JUDGE = """
import torch
from kernels import get_kernel

gemm = get_kernel("kernels-community/gemm", version=1)
torch.manual_seed(0)
m, n, k = 96, 576, 1000
a = torch.randn(k, m).to(torch.float8_e4m3fnuz)
b = torch.randn(n, k).to(torch.float8_e4m3fnuz).t()
a_scale, b_scale = torch.randn(8, m), torch.randn(8, 5)
out = gemm.gemm(a, b, a_scale, b_scale)
full_a = a.double() * a_scale.double().repeat_interleave(128, 0)[:k]
full_b_scale = b_scale.double().repeat_interleave(128, 0)[:k].repeat_interleave(128, 1)[:, :n]
full_b = b.double() * full_b_scale
want = full_a.t() @ full_b
error = float((out.double() - want).norm() / want.norm())
assert error < 2e-3, error
print("right")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The flagship's builds, and the Hub that serves them."""

    source: Path
    env: dict[str, str]

    def variant(self, backend: str) -> Path:
        (folder,) = self.source.glob(f"build/*-{backend}*")
        return folder


def run(*command: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env=env, cwd=cwd, check=False, timeout=600
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Published]:
    work = tmp_path_factory.mktemp("flagship")
    ignore = shutil.ignore_patterns("build", "__pycache__", ".pytest_cache")
    source = shutil.copytree(root / "examples" / "gemm", work / "gemm", ignore=ignore)
    build = (sys.executable, "-m", "kernelmill.builder", "build", str(source))
    run(*build, "--backend", "cpu", "--backend", "rocm")
    with serving(work / "hub", "--trust", "kernels-community") as hub:
        env = {name: value for name, value in os.environ.items() if name != "HF_TOKEN"} | {
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(work / "hf"),
            "KERNELS_CACHE": str(work / "cache"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        }
        run(
            sys.executable,
            "-m",
            "kernelmill.builder",
            "upload",
            str(source),
            env=env | {"HF_TOKEN": hub.token},
        )
        yield Published(source=source, env=env)


def test_flagship_is_right_when_loaded_by_name(published: Published) -> None:
    assert run(sys.executable, "-c", LOAD_AND_JUDGE, env=published.env) == "right\n"


def test_flagship_is_right_when_loaded_by_the_peer(published: Published, root: Path) -> None:
    peer = root / ".venv-peer" / "bin" / "python"
    if not peer.exists():
        pytest.fail("the PyPI kernels package is not set up: run make .venv-peer/ready")
    # PyTorch is borrowed from our environment; everything else is the peer's own.
    script = f"""
import sys
sys.path.append({sysconfig.get_path("purelib")!r})
import kernels
assert kernels.__version__ == "0.17.2" and ".venv-peer" in kernels.__file__, kernels.__file__
{LOAD_AND_JUDGE}"""
    env = published.env | {"KERNELS_CACHE": str(published.source.parent / "peer")}
    # NOTE: without telemetry the peer's user agent ends in "; ", which its HTTP client refuses.
    del env["HF_HUB_DISABLE_TELEMETRY"]

    assert run(str(peer), "-c", script, env=env) == "right\n"


def test_flagship_is_timed_by_the_command(published: Published) -> None:
    text = run(
        *(sys.executable, "-m", "kernelmill.runtime", "benchmark", f"{REPOSITORY}@v1", "--json"),
        *("--iterations", "2", "--warmup", "1"),
        env=published.env,
    )
    payload = json.loads(text)
    results = {it["workload"]: it for it in payload["results"]}
    assert set(results) == {"Gemm.prompt", "Gemm.tokens"}
    for result in results.values():
        assert result["verified"]
        assert result["timingResults"]["iterations"] == 2
        assert 0 < result["timingResults"]["min_ms"] <= result["timingResults"]["max_ms"]
    assert payload["machineInfo"]["backend"] == "CPU"
    metadata = json.loads((published.variant("cpu") / "metadata.json").read_text("utf-8"))
    assert metadata["id"].endswith(payload["kernelCommitSha"])
    assert len(payload["benchmarkScriptSha"]) == 40


def run_own_tests(published: Published, *options: str, **more: str) -> dict[str, Any]:
    """Return what ``kernel-builder test`` says of the one variant that it tests."""
    command = (sys.executable, "-m", "kernelmill.builder", "test", "--json", *options)
    pytest_args = ("--", "-q", "-x", "--no-header", "-p", "no:cacheprovider")
    text = run(*command, *pytest_args, env={**os.environ, **more}, cwd=published.source)
    (trial,) = json.loads(text)["trials"]
    return dict(trial)


def test_flagship_passes_its_own_tests(published: Published) -> None:
    trial = run_own_tests(published, "--backend", "cpu")
    assert trial["tests"]["passed"] > 170


def test_flagship_passes_its_own_tests_when_emulated(published: Published) -> None:
    trial = run_own_tests(published, "--backend", "rocm", "--emulate", "--sanitize")
    assert trial["tests"]["passed"] > 80
    assert trial["launches"]["count"] > 80
    assert trial["findings"] == []


@pytest.mark.long
def test_flagship_is_right_in_every_shape_when_emulated(published: Published) -> None:
    trial = run_own_tests(published, "--backend", "rocm", "--emulate", KERNEL_TEST_SHAPES="all")
    assert trial["tests"]["passed"] > 120
    assert trial["launches"]["instructions"] > 30_000_000


def test_gfx942_code_has_fp8_mfma_and_no_spills(published: Published) -> None:
    report = json.loads(
        run(
            *(sys.executable, "-m", "kernelmill.builder", "inspect", "--json"),
            str(published.variant("rocm")),
        )
    )

    (code_object,) = report["code_objects"]
    assert code_object["arch"] == "gfx942"
    assert any("fp8" in name for kernel in code_object["kernels"] for name in kernel["mfma"])
    for kernel in code_object["kernels"]:
        assert kernel["vgpr_spills"] == kernel["sgpr_spills"] == kernel["private_bytes"] == 0
        assert kernel["lds_bytes"] <= 64 * 1024


def test_metadata_says_how_each_variant_was_built(published: Published) -> None:
    cpu, rocm = (
        json.loads((published.variant(backend) / "metadata.json").read_text(encoding="utf-8"))
        for backend in ("cpu", "rocm")
    )

    assert (cpu["kernelmill"]["mode"], cpu["kernelmill"]["cross"]) == ("develop", False)
    assert (rocm["kernelmill"]["mode"], rocm["kernelmill"]["cross"]) == ("develop", True)
    assert rocm["backend"] == {"type": "rocm", "archs": ["gfx942"]}
    assert cpu["id"] != rocm["id"]

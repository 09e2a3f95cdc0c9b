"""The newest transformers takes kernelmill for `kernels`, and its models run kernels of a Hub.

It has an environment of its own, `.venv-transformers`, with kernelmill and `compat/` installed.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from demo.hub import serving
from tests.unit.runtime.kernel_files import kernel_files, write_files

from kernelmill.runtime.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL_LAYERS = """
import torch
from torch import nn

CALLS = {"RMSNorm": 0, "Silu": 0, "apply_rotary_transformers": 0}


class RMSNorm(nn.Module):
    weight: torch.Tensor
    variance_epsilon: float

    def forward(self, hidden_states):
        CALLS["RMSNorm"] += 1
        shape = hidden_states.shape[-1:]
        return nn.functional.rms_norm(hidden_states, shape, self.weight, self.variance_epsilon)


class Silu(nn.Module):
    can_torch_compile = True

    def forward(self, input):
        CALLS["Silu"] += 1
        return input * torch.sigmoid(input)


class apply_rotary_transformers(nn.Module):
    def forward(self, q, k, cos, sin, unsqueeze_dim=1):
        CALLS["apply_rotary_transformers"] += 1
        cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
        return turn(q, cos, sin), turn(k, cos, sin)


def turn(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin
"""

MEGABLOCKS = """
import torch
from torch import nn

CALLS = {"CPUMegaBlocksMoeMLP": 0}


class CPUMegaBlocksMoeMLP(nn.Module):
    router: nn.Module
    experts: nn.Module

    def forward(self, hidden_states):
        CALLS["CPUMegaBlocksMoeMLP"] += 1
        rows = hidden_states.reshape(-1, hidden_states.shape[-1])
        _, scores, indices = self.router(rows)
        return self.experts(rows, indices, scores).reshape(hidden_states.shape), scores
"""

PUBLISHED = {
    "kernels-community/small-layers": SMALL_LAYERS,
    "kernels-community/megablocks": MEGABLOCKS,
    "stranger/small-layers": SMALL_LAYERS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Runs scripts with transformers, against a Hub that has the kernels."""

    python: Path
    scripts: Path
    env: dict[str, str]

    def run(self, script: str, *arguments: str) -> dict[str, Any]:
        command = [str(self.python), str(self.scripts / script), *arguments]
        done = subprocess.run(
            command, check=False, env=self.env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def program(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    python = root / ".venv-transformers" / "bin" / "python"
    if not python.exists():
        pytest.fail("transformers is not set up: run make .venv-transformers/ready")
    folder = tmp_path_factory.mktemp("transformers")
    with serving(folder / "hub", "--trust", "kernels-community") as hub:
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "KERNELS_"))}
        plain.pop("PYTHONPATH", None)  # what is installed has to do
        env = plain | {
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(folder / "home"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        hub.run("org", "create", "stranger")
        for repo, layers in PUBLISHED.items():
            publish(folder / repo, repo, layers, {**env, "HF_TOKEN": hub.token})
        yield Program(
            python=python, scripts=root / "tests/integration/transformers_models", env=env
        )


def publish(folder: Path, repo: str, layers: str, env: dict[str, str]) -> None:
    """Upload a kernel in pure Python, with its layers, as version 1."""
    name = repo.rpartition("/")[2]
    sources = {"__init__.py": "from . import layers\n", "layers.py": layers}
    write_files(folder / "build/torch-universal", kernel_files(name, sources=sources))
    write_files(folder, {"CARD.md": b"---\nlicense: apache-2.0\n---\n# Layers\n"})
    with pytest.MonkeyPatch.context() as patch:
        for key, value in env.items():
            patch.setenv(key, value)
        assert main(["upload", str(folder), "--repo-id", repo]) == 0


def test_transformers_kernelizes_a_model_and_its_outputs_stay(program: Program) -> None:
    told = program.run("llama.py")
    assert told["is_available"], f"transformers {told['transformers']} refuses us"
    assert told["difference"] < 1e-5
    assert told["difference_of_copy"] < 1e-5
    # Two runs of two layers: two norms in each and one at the end; one MLP; one attention.
    assert told["calls"] == {"RMSNorm": 10, "Silu": 4, "apply_rotary_transformers": 4}
    assert told["same_modules"], "the tree of modules changed"
    # Both layers share one function, which is replaced once.
    assert told["report"].startswith("8 of 8 layers replaced"), told["report"]
    assert len(told["revision"]) == 40


def test_transformers_own_mapping_finds_its_kernel_for_the_cpu(program: Program) -> None:
    told = program.run("gpt_oss.py")
    assert told["difference"] < 1e-5
    assert told["calls"] == {"CPUMegaBlocksMoeMLP": 2}
    assert told["repository"] == "kernels-community/megablocks"


def test_no_field_of_a_configuration_loads_a_strangers_kernel(
    program: Program, tmp_path: Path
) -> None:
    """S1, S2: whatever of a configuration transformers passes on to us meets the trust gate."""
    outcomes = program.run("config_fields.py", str(tmp_path))
    for field, told in outcomes.items():
        assert told["loaded"] == [], f"{field}: {told['outcome']}"
    assert not list(Path(program.env["HF_HOME"]).rglob("kernels--stranger--*/snapshots"))
    refused = "Kernel repository 'stranger/small-layers' is not from a trusted publisher"
    asked = [field for field, told in outcomes.items() if refused in told["outcome"]]
    assert asked, outcomes
    assert outcomes["overruled"]["outcome"] == "sdpa", "a trusted kernel, but the caller said sdpa"

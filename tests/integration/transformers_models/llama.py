"""Kernelize a small Llama with the kernels of a Hub, and say what came of it, as JSON."""

import copy
import json
import sys

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.utils import is_kernels_available

import kernels
from kernels import LayerRepository

CONFIG = LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
)
REPOSITORY = "kernels-community/small-layers"
LAYERS = {
    "RMSNorm": "RMSNorm",
    "SiLU": "Silu",
    "rotary_pos_emb": "apply_rotary_transformers",
}


def largest_difference(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).abs().max())


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG).eval()
    tokens = torch.arange(12).reshape(2, 6)
    original = model(tokens).logits
    # NOTE: transformers' own mapping has these layers for accelerators only.
    kernels.register_kernel_mapping(
        {
            name: {"cpu": LayerRepository(REPOSITORY, layer_name=layer, version=1)}
            for name, layer in LAYERS.items()
        }
    )
    names = [name for name, _ in model.named_modules()]
    model.set_use_kernels(True)
    report = kernels.explain(model)
    kernelized = model(tokens).logits
    (kernel,) = (it for it in kernels.get_loaded_kernels() if "small-layers" in str(it.repo_info))
    json.dump(
        {
            "transformers": transformers.__version__,
            "is_available": is_kernels_available(),
            "difference": largest_difference(kernelized, original),
            "difference_of_copy": largest_difference(copy.deepcopy(model)(tokens).logits, original),
            "calls": kernel.module.layers.CALLS,
            "same_modules": [name for name, _ in model.named_modules()] == names,
            "report": str(report),
            "revision": kernel.repo_info.revision if kernel.repo_info else None,
        },
        sys.stdout,
    )


main()

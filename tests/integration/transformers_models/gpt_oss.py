"""Kernelize a small GPT-OSS by transformers' own mapping, which names a kernel for the CPU."""

import json
import sys

import torch
from transformers import GptOssConfig, GptOssForCausalLM

import kernels

CONFIG = GptOssConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    num_local_experts=4,
    num_experts_per_tok=2,
    sliding_window=4,
)


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    model = GptOssForCausalLM(CONFIG).eval()
    tokens = torch.arange(12).reshape(2, 6)
    original = model(tokens).logits
    model.set_use_kernels(True)
    kernelized = model(tokens).logits
    (kernel,) = kernels.get_loaded_kernels()
    json.dump(
        {
            "difference": float((kernelized - original).abs().max()),
            "calls": kernel.module.layers.CALLS,
            "repository": kernel.repo_info.repo_id if kernel.repo_info else None,
        },
        sys.stdout,
    )


main()

"""Build models from configurations that name a kernel of a stranger wherever one could."""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig

import kernels

REPOSITORY = "stranger/small-layers"
SMALL = {
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
FIELDS = (
    "attn_implementation",
    "_attn_implementation",
    "_attn_implementation_internal",
    "attn_implementation_internal",
    "experts_implementation",
    "_experts_implementation",
    "_experts_implementation_internal",
    "kernel_config",
    "kernels",
    "use_kernels",
    "kernel_layer_name",
    "auto_map",
)


def try_field(folder: str, field: str) -> str:
    """Load a model from a folder whose config.json has ``field``; return what happened."""
    value = {"AutoModel": REPOSITORY} if field == "auto_map" else REPOSITORY
    Path(folder, "config.json").write_text(json.dumps({**SMALL, field: value}))
    try:
        config = AutoConfig.from_pretrained(folder)
        AutoModelForCausalLM.from_pretrained(folder, config=config, local_files_only=True)
        AutoModelForCausalLM.from_config(config)
    except (ValueError, OSError, TypeError, AttributeError, KeyError, ImportError) as error:
        return f"{type(error).__name__}: {error}"
    return "built"


def main() -> None:
    folder = sys.argv[1]
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(LlamaConfig(**SMALL)).save_pretrained(folder)
    outcomes = {}
    for field in FIELDS:
        outcome = try_field(folder, field)
        loaded = [str(it.repo_info) for it in kernels.get_loaded_kernels()]
        outcomes[field] = {"outcome": outcome, "loaded": loaded}
    # The last configuration named no attention; this one does, and the caller knows better.
    named = {**SMALL, "attn_implementation": "kernels-community/small-layers"}
    Path(folder, "config.json").write_text(json.dumps(named))
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa")
    loaded = [str(it.repo_info) for it in kernels.get_loaded_kernels()]
    outcomes["overruled"] = {"outcome": model.config._attn_implementation, "loaded": loaded}
    json.dump(outcomes, sys.stdout)


main()

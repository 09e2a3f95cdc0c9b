"""Marks and mappings are cheap: libraries make them while they are imported (Y13)."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from kernelmill.runtime.layers import (
    CUDAProperties, Device, LayerRepository, LockedLayerRepository, Mode, register_kernel_mapping,
    replace_kernel_forward_from_hub, use_kernel_forward_from_hub,
)

@use_kernel_forward_from_hub("X")
class Layer: ...

replace_kernel_forward_from_hub(Layer, "X")
register_kernel_mapping({
    "X": {
        Device("cuda", CUDAProperties(75, 90)): {
            Mode.INFERENCE: LayerRepository("acme/x", layer_name="X"),
        },
        "warp": LockedLayerRepository("acme/x", layer_name="X"),
    },
    "Y": None,
})
print(sorted({"torch", "huggingface_hub", "sigstore"} & set(sys.modules)))
"""


def test_marks_and_mappings_import_no_torch_and_no_hub_client() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")

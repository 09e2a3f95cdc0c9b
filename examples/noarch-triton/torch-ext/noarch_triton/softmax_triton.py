"""The Triton kernel. Imported on GPUs only: a PyTorch for the CPU brings no Triton."""

import torch
import triton
import triton.language as tl

from .tuning import launch_settings  # noqa: TID252 - each build has a name of its own


@triton.jit
def _softmax_kernel(out, x, columns, BLOCK: tl.constexpr):  # noqa: N803 - Triton's convention
    # One program is one row, which fits into one block: BLOCK >= columns.
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=inside, other=float("-inf")).to(tl.float32)
    numerator = tl.exp(values - tl.max(values, axis=0))
    result = numerator / tl.sum(numerator, axis=0)
    tl.store(out + row * columns + offsets, result, mask=inside)


def softmax_rows(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax of each row of ``x``, contiguous and on a GPU."""
    out = torch.empty_like(x)
    rows = x.numel() // x.shape[-1]
    if rows:
        grid = (rows,)
        with torch.cuda.device(x.device):
            _softmax_kernel[grid](
                out,
                x,
                x.shape[-1],
                BLOCK=triton.next_power_of_2(x.shape[-1]),
                **launch_settings(_arch(x.device)),
            )
    return out


def _arch(device: torch.device) -> str:
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        return properties.gcnArchName
    return f"sm_{properties.major}{properties.minor}"

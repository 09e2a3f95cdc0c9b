"""torch's own operators, by torch's own samples: the device against the CPU, and gradients.

Run by ``test_emulated_device.py``, with the plug-in. Takes a minute.
"""

# torch.testing has no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Final, cast

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

Inputs = tuple[object, tuple[object, ...], dict[str, object]]
"""First, other, and named inputs of an operator."""
SAMPLES: Final = 3
TOLERANCE: Final = 1e-3
"""Both sides run the same kernels; only the alignment of memory differs."""
RANDOM: Final = (
    "bernoulli", "cauchy", "dropout", "empty", "exponential", "fractional", "geometric", "lobpcg",
    "multinomial", "new_", "nonzero_static", "normal", "poisson", "rand", "rrelu", "uniform",
)  # fmt: skip
"""Parts of names of operators whose results are not comparable: they are only run."""
SIGNS: Final = ("svd", "eig", "pca_lowrank")
"""As above: factors are unique up to a sign."""
DIFFERENT: Final = {
    "sparse.sampled_addmm": "no compressed sparse tensors on the device",
    "sparse.mm.reduce": "no compressed sparse tensors on the device",
    "to_sparse": "the sample asks for compressed layouts as well",
    "as_strided.partial_views": "the sample reads storage outside of its view, which is not copied",
    "tensor_split": "torch wants the sections on the CPU, the sample has them on the device",
}
"""Operators that cannot agree, and why."""
COMPILED: Final = "jiterator"
"""How the names of operators begin that compile source code for a GPU at run time."""


def name(info: OpInfo) -> str:
    return str(".".join(filter(None, (info.name, info.variant_test_name))))


def is_comparable(info: OpInfo) -> bool:
    return not any(part in info.name for part in (*RANDOM, *SIGNS))


CASES: Final = [
    info
    for info in op_db
    if torch.float32 in info.dtypes
    and name(info) not in DIFFERENT
    and not info.name.startswith(COMPILED)
]


def samples(info: OpInfo, *, requires_grad: bool) -> list[SampleInput]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = info.sample_inputs("cpu", torch.float32, requires_grad=requires_grad)
        return list(itertools.islice(made, SAMPLES))


def on_device(inputs: Inputs) -> Inputs:
    def move(item: object) -> object:
        if isinstance(item, torch.Tensor):
            return item.detach().cuda().requires_grad_(item.requires_grad)
        return torch.device("cuda") if isinstance(item, torch.device) else item

    return cast("Inputs", tree_map(move, inputs))


def call(info: OpInfo, inputs: Inputs, device: str) -> object:
    first, rest, options = inputs
    if "device" in options:
        options = {**options, "device": device}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return info(first, *rest, **options)


def tensors(value: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def compare(got: torch.Tensor, want: torch.Tensor) -> None:
    assert got.is_cuda
    torch.testing.assert_close(got.cpu(), want, equal_nan=True, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("info", CASES, ids=name)
def test_operator_agrees_with_the_cpu_when_run(info: OpInfo) -> None:
    for sample in samples(info, requires_grad=False):
        inputs = (sample.input, sample.args, sample.kwargs)
        moved = on_device(inputs)
        want = call(info, inputs, "cpu")
        got = call(info, moved, "cuda")
        if is_comparable(info):
            for one, other in zip(tensors(got), tensors(want), strict=True):
                compare(one, other)


def gradients(info: OpInfo, inputs: Inputs, device: str) -> tuple[torch.Tensor | None, ...]:
    """Return the gradients of the sum of all results, one for each input that has one."""
    leaves = [tensor for tensor in tensors(inputs) if tensor.requires_grad]
    results = [item for item in tensors(call(info, inputs, device)) if item.requires_grad]
    if not leaves or not results:
        return ()
    total = [(item.abs() if item.is_complex() else item).sum() for item in results]
    return torch.autograd.grad(total, leaves, allow_unused=True)


@pytest.mark.parametrize("info", [info for info in CASES if info.supports_autograd], ids=name)
def test_gradient_agrees_with_the_cpu_when_taken(info: OpInfo) -> None:
    if not is_comparable(info):
        pytest.skip("results are not comparable")
    for sample in samples(info, requires_grad=True):
        inputs = (sample.input, sample.args, sample.kwargs)
        moved = on_device(inputs)
        wanted = gradients(info, inputs, "cpu")
        for got, want in zip(gradients(info, moved, "cuda"), wanted, strict=True):
            assert (got is None) == (want is None)
            if got is not None and want is not None:
                compare(got, want)

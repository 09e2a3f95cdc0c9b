"""What torch does on the emulated device. Run by ``test_emulated_device.py``, with the plug-in."""

# torch.cuda.Stream and its like have no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import copy
import io
import multiprocessing
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.library import custom_op, opcheck

from kernelmill.emulator.device.activate import active_device

if TYPE_CHECKING:
    from collections.abc import Callable


def on_both(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return what ``function`` gives on the device and on the CPU."""
    result = function(*(item.cuda() for item in inputs))
    assert result.device == torch.device("cuda:0")
    return result.cpu(), function(*inputs)


def test_device_is_an_mi300x_when_torch_is_asked() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert properties.name == "AMD Instinct MI300X (emulated)"
    assert properties.gcnArchName == "gfx942:sramecc+:xnack-"
    assert (properties.multi_processor_count, properties.warp_size) == (304, 64)
    assert properties.shared_memory_per_block == 64 * 1024
    assert torch.version.hip == "7.1.0"
    assert torch.version.cuda is None
    assert (torch.cuda.is_available(), torch.cuda.device_count()) == (True, 1)
    assert torch.cuda.get_device_capability() == (9, 4)
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert "MI300X" in repr(properties)


def test_second_device_is_refused_when_asked_for() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal 1"):
        torch.empty(1, device="cuda:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal 1: one is emulated"):
        torch.cuda.set_device(1)


def test_fresh_memory_is_poison_when_nothing_was_written() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        assert torch.empty(33, dtype=dtype, device="cuda").isnan().all()
    assert (torch.empty(7, dtype=torch.int32, device="cuda") == -1).all()
    like = torch.empty_like(torch.zeros(3, 4, device="cuda"))
    assert like.isnan().all()
    assert torch.empty_strided((3, 2), (1, 3), device="cuda").isnan().all()


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        pytest.param(lambda a, b: a @ b + 1, [(5, 7), (7, 3)], id="matmul"),
        pytest.param(lambda a: torch.softmax(a, -1), [(4, 9)], id="softmax"),
        pytest.param(lambda a: torch.sort(a, descending=True)[0], [(17,)], id="two results"),
        pytest.param(lambda a: torch.cat([a, a.flip(0)]).cumsum(0), [(3, 2)], id="tensor list"),
        pytest.param(lambda a: a[[2, 0]][:, a[0] > -9], [(3, 4)], id="index"),
        pytest.param(nn.functional.conv2d, [(1, 2, 6, 6), (3, 2, 3, 3)], id="conv"),
        pytest.param(
            nn.functional.scaled_dot_product_attention, [(1, 2, 5, 8)] * 3, id="attention",
        ),
        pytest.param(torch.linalg.svdvals, [(4, 4)], id="linalg"),
        pytest.param(lambda a: torch.fft.rfft(a).abs(), [(16,)], id="complex"),
        pytest.param(lambda a: a.to(torch.complex64).conj().mul(2j).imag, [(5,)], id="conjugate"),
        pytest.param(lambda a: nn.functional.layer_norm(a, (6,)), [(4, 6)], id="layer norm"),
        pytest.param(lambda a: a.unfold(0, 3, 2).contiguous(), [(9,)], id="unfold"),
        pytest.param(lambda a: torch.where(a > 0, a, 0.5), [(9,)], id="scalar"),
        pytest.param(lambda a: a.unique().sum(), [(9,)], id="unique"),
        pytest.param(lambda a: torch.tril(a).nonzero().float(), [(4, 4)], id="nonzero"),
    ],
)  # fmt: skip
def test_operator_agrees_with_the_cpu_when_run(
    function: Callable[..., Tensor], shapes: list[tuple[int, ...]]
) -> None:
    torch.manual_seed(0)
    torch.testing.assert_close(*on_both(function, *(torch.randn(shape) for shape in shapes)))


def test_factories_make_device_tensors_when_given_the_device() -> None:
    made = [
        torch.zeros(2, 3, device="cuda"), torch.arange(5, device="cuda"),
        torch.eye(3, device="cuda"),
        torch.full((2,), 7.0, device="cuda"), torch.linspace(0, 1, 5, device="cuda"),
        torch.tensor([1, 2], device="cuda"), torch.randperm(4, device="cuda"),
        torch.tril_indices(3, 3, device="cuda"), torch.ones(2).cuda(), torch.ones(2).to("cuda"),
    ]  # fmt: skip
    assert {item.device for item in made} == {torch.device("cuda:0")}
    assert torch.linspace(0, 1, 5, device="cuda").tolist() == [0, 0.25, 0.5, 0.75, 1]
    with torch.device("cuda"):
        assert torch.ones(1).is_cuda


def test_copies_keep_every_value_when_they_cross() -> None:
    source = torch.randn(6, 5)
    device = source.to("cuda", non_blocking=True)
    assert torch.equal(device.cpu(), source)
    assert device.data_ptr() != source.data_ptr()
    target = torch.zeros(5, 6)
    target.copy_(device.t())
    assert torch.equal(target, source.t())
    device[1:3].copy_(torch.full((2, 5), 4.0))
    assert device[2].tolist() == [4.0] * 5
    assert source.to("cuda", torch.bfloat16).cpu().equal(source.bfloat16())
    assert device.sum().item() == pytest.approx(device.cpu().sum().item())
    assert source.pin_memory().cuda().equal(device) is False


def test_views_share_memory_when_written_to() -> None:
    base = torch.zeros(4, 6, device="cuda")
    base.t()[2:4, 1] = 5
    base.view(24)[0] = 1
    base.as_strided((2,), (7,)).add_(1)
    assert base[1].tolist() == [0, 1, 5, 5, 0, 0]
    assert base[0, 0].item() == 2
    assert base.untyped_storage().data_ptr() == base[2:].untyped_storage().data_ptr()


def test_storage_changes_when_resized_or_exchanged() -> None:
    x = torch.ones(3, device="cuda")
    out = torch.empty(0, device="cuda")
    torch.add(x, x, out=out)
    assert out.tolist() == [2, 2, 2]
    view = x[:2]
    x.resize_(1000)
    assert x.shape == (1000,)
    assert view.tolist() == [1, 1]
    assert view.data_ptr() == x.data_ptr()
    other = torch.arange(4.0, device="cuda")
    x.set_(other.untyped_storage(), 0, (4,), (1,))
    other[0] = 9
    assert x.tolist() == [9, 1, 2, 3]
    assert view.tolist() == [1, 1]
    y = torch.empty(0, device="cuda").set_(other.untyped_storage(), 1, (3,), (1,))
    assert y.tolist() == [1, 2, 3]
    view.untyped_storage().resize_(0)
    assert (view.untyped_storage().nbytes(), view.shape) == (0, (2,))
    other.untyped_storage().resize_(32)
    assert other.tolist() == [9, 1, 2, 3]
    x.data = torch.zeros(2, device="cuda")
    assert x.tolist() == [0, 0]


def test_mixing_host_and_device_is_refused_when_a_gpu_would() -> None:
    device, host = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        device + host
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        device.numpy()
    assert (device + torch.tensor(2.0)).tolist() == [3, 3, 3]
    assert device[torch.tensor([0, 1])].tolist() == [1, 1]


def test_streams_and_events_behave_when_used() -> None:
    default, stream = torch.cuda.default_stream(), torch.cuda.Stream()
    assert (default.cuda_stream, torch.cuda.current_stream()) == (0, default)
    assert stream != default
    assert stream != torch.cuda.Stream()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(RuntimeError, match="must be recorded"):
        start.elapsed_time(stop)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        start.record()
        x = torch.ones(100, device="cuda").sum()
        stop.record()
    assert torch.cuda.current_stream() == default
    default.wait_stream(stream)
    default.wait_event(stop)
    x.record_stream(default)
    stop.synchronize()
    torch.cuda.synchronize()
    assert stream.query()
    assert stop.query()
    assert start.elapsed_time(stop) > 0
    external = torch.cuda.ExternalStream(0x1234)
    assert external.cuda_stream == 0x1234


def test_streams_are_per_thread_when_threads_choose_theirs() -> None:
    seen = []
    with torch.cuda.stream(torch.cuda.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.cuda.default_stream()]


def test_device_works_when_the_process_forks() -> None:
    x = torch.arange(5.0, device="cuda")
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[float] = context.Queue()
    child = context.Process(target=lambda: queue.put(float((x * 2).sum())))
    child.start()
    assert queue.get(timeout=60) == 20
    child.join()


def test_random_numbers_repeat_when_seeded() -> None:
    torch.manual_seed(5)
    first = torch.randn(8, device="cuda")
    torch.manual_seed(5)
    host = torch.randn(8)
    assert torch.equal(first, torch.randn(8, device="cuda"))
    assert host.shape == (8,)
    state = torch.cuda.get_rng_state()
    second = torch.rand(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(second, torch.rand(4, device="cuda"))
    generator = torch.Generator(device="cuda").manual_seed(3)
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        torch.randn(2, generator=generator)
    drawn = torch.randn(2, device="cuda", generator=generator)
    assert torch.equal(drawn, torch.randn(2, device="cuda", generator=generator.manual_seed(3)))


def test_gradients_are_right_when_a_model_trains() -> None:
    torch.manual_seed(0)
    host = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.BatchNorm1d(8), nn.Linear(8, 2))
    device = copy.deepcopy(host).cuda()
    inputs = torch.randn(5, 6)
    for model, data in ((host, inputs), (device, inputs.cuda())):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
    for a, b in zip(host.parameters(), device.parameters(), strict=True):
        torch.testing.assert_close(a, b.cpu(), atol=1e-4, rtol=1e-4)
    x = torch.randn(3, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(torch.tanh, (x,))


def test_gradient_is_zero_when_an_operator_has_none() -> None:
    x = torch.randn(3, device="cuda", requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.sgn(x).sum(), x)
    assert gradient.is_cuda
    assert gradient.tolist() == [0, 0, 0]


def test_autocast_and_transforms_work_when_applied() -> None:
    x = torch.randn(4, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
    doubled = torch.func.vmap(lambda row: row * 2)(x)
    assert torch.equal(doubled, x * 2)
    gradient = torch.func.grad(lambda y: (y**2).sum())(x)
    assert torch.equal(gradient, 2 * x)
    with torch.inference_mode():
        assert (x + 1).is_cuda


def test_tensors_survive_when_copied_and_saved() -> None:
    x = torch.randn(3, device="cuda")
    assert torch.equal(copy.deepcopy(x), x)
    buffer = io.BytesIO()
    torch.save({"x": x}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer)["x"]
    assert loaded.is_cuda
    assert torch.equal(loaded, x)
    buffer.seek(0)
    assert torch.load(buffer, map_location="cpu")["x"].equal(x.cpu())
    assert torch.UntypedStorage(12, device="cuda").device == torch.device("cuda:0")


def test_memory_is_counted_when_allocated() -> None:
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before == 1 << 20
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + (1 << 20)
    assert torch.cuda.mem_get_info()[1] == 192 << 30


@custom_op("fixture::scaled", mutates_args=(), device_types="cuda")
def scaled(x: Tensor, factor: float) -> Tensor:
    return x * factor


@scaled.register_fake
def _(x: Tensor, factor: float) -> Tensor:
    return torch.empty_like(x)


def _scaled_backward(ctx: object, gradient: Tensor) -> tuple[Tensor, None]:
    return scaled(gradient, 3.0), None


scaled.register_autograd(_scaled_backward)


@custom_op("fixture::host_only", mutates_args=(), device_types="cpu")
def host_only(x: Tensor) -> Tensor:
    return x.clone()


def test_freed_memory_keeps_its_place_when_the_emulator_has_not_heard_of_it() -> None:
    device = active_device()
    assert device is not None
    memory = torch.zeros(64 << 10, dtype=torch.uint8, device="cuda")
    device.session.sync_memory()
    start, end = memory.data_ptr(), memory.data_ptr() + memory.nbytes
    del memory  # as a garbage collection in the midst of a launch would
    others = [np.empty(64 << 10, np.uint8) for _ in range(64)]
    places = [(it.ctypes.data, it.ctypes.data + it.nbytes) for it in others]
    assert not [place for place in places if place[0] < end and start < place[1]]


def test_custom_operator_passes_opcheck_when_it_has_a_device_kernel() -> None:
    x = torch.randn(4, device="cuda", requires_grad=True)
    opcheck(scaled, (x, 3.0))
    scaled(x, 3.0).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3, 3, 3]


def test_custom_operator_is_refused_when_it_has_none() -> None:
    with pytest.raises(NotImplementedError, match="fixture::host_only"):
        host_only(torch.ones(2, device="cuda"))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_function_agrees_when_captured_whole(backend: str) -> None:
    def function(x: Tensor, weight: Tensor) -> Tensor:
        result: Tensor = scaled(torch.relu(x @ weight), 2.0)
        return result + torch.zeros(3, device="cuda")

    x = torch.randn(4, 5, device="cuda")
    weight = torch.randn(5, 3, device="cuda")
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(x, weight), function(x, weight))


@pytest.mark.parametrize(
    ("use", "what"),
    [
        pytest.param(torch.cuda.CUDAGraph, "graphs", id="graph"),
        pytest.param(lambda: torch.cuda.Event(interprocess=True), "events shared", id="event"),
        pytest.param(torch.cuda.current_blas_handle, "BLAS handle", id="blas"),
    ],
)
def test_what_is_not_emulated_is_refused_when_used(use: Callable[[], object], what: str) -> None:
    with pytest.raises(NotImplementedError, match=f"the emulated device has no {what}"):
        use()


def test_sparse_tensors_work_when_they_have_coordinates() -> None:
    dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
    sparse = dense.cuda().to_sparse()
    assert (sparse.layout, sparse.device) == (torch.sparse_coo, torch.device("cuda:0"))
    assert sparse.indices().is_cuda
    assert sparse.values().tolist() == [2, 3, 4]
    assert torch.equal(sparse.to_dense().cpu(), dense)
    assert torch.equal((sparse + sparse).to_dense().cpu(), dense * 2)
    weight = torch.ones(3, 2, device="cuda", requires_grad=True)
    torch.sparse.mm(sparse, weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[3, 3], [2, 2], [4, 4]]
    sparse.zero_()
    assert sparse._nnz() == 0
    assert sparse.cpu().device.type == "cpu"


def test_compressed_sparse_tensors_are_refused_when_made() -> None:
    with pytest.raises(NotImplementedError, match="no tensors of layout SparseCsr"):
        torch.eye(3, device="cuda").to_sparse_csr()

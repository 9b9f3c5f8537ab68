"""How near a step comes to the best that the machine gives for its convolutions alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import torch
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import Recipe, fit
from tests.bench.subjects import BATCH, Subject
from tests.bench.timing import interleaved

KINDS = {
    "convolution": "convolution",
    "norm": "batch norm",
    "threshold": "ReLU",
    "clamp": "ReLU",
    "mm": "dense layer",
    "adam": "Adam",
    "Optimizer": "Adam",
    "index": "gathering the batch",
    "copy": "casts and copies",
    "add": "additions",
}


def measure(subjects: Sequence[Subject], repeats: int) -> tuple[Table, dict[str, object]]:
    """Return the table of achieved and possible GFLOP/s, with what takes the rest of a step."""
    table = Table("network", "way", "GFLOP/s", "convolutions alone", "share", "where the rest goes")
    table.title = "A step behind the first feature (2 FLOP a mul-add), against its convolutions"
    raw: dict[str, object] = {}
    for subject in subjects:
        for precision in ("fp32", "bf16"):
            name = f"{subject.network} {precision}"
            raw[name] = found = _step(subject, precision, repeats)
            share = found["alone"] / found["seconds"]
            rest = "\n".join(f"{part:.0%} {kind}" for kind, part in found["rest"].items())
            speeds = [found["flops"] / found[key] / 1e9 for key in ("seconds", "alone")]
            cells = [f"{speeds[0]:.0f}", f"{speeds[1]:.0f}", f"{share:.0%}", rest]
            table.add_row(subject.network, precision, *cells)
    return table, raw


def _step(subject: Subject, precision: str, repeats: int) -> dict[str, object]:
    """Time a step of the product's loop, and the same convolutions with nothing around them."""
    model, data = subject.model(), subject.images(8 * BATCH)
    prefix, tail = model[:1].eval(), model[1:].train()
    with torch.no_grad():
        values = Examples(prefix(data.x), data.y)
    recipe = partial(Recipe, batch_size=BATCH, precision=precision)

    def train(epochs: int) -> None:
        fit(tail, values, recipe(epochs=epochs), stream(0))

    times = interleaved({"1": partial(train, 1), "3": partial(train, 3)}, repeats)
    return {
        "seconds": (times["3"] - times["1"]) / 16,
        "flops": _flops(tail, values),
        "alone": _convolutions_alone(tail, values, precision, repeats),
        "rest": _rest(partial(train, 3)),
    }


def _flops(tail: nn.Module, values: Examples) -> int:
    with FlopCounterMode(display=False) as counter:
        functional.cross_entropy(tail(values.x[:BATCH]), values.y[:BATCH]).backward()
    return counter.get_total_flops()


def _convolutions_alone(tail: nn.Module, values: Examples, precision: str, repeats: int) -> float:
    """Return the seconds of all convolutions, forward and backward, each in its best layout."""
    shapes: list[tuple[nn.Conv2d, Tensor]] = []
    hooks = [
        module.register_forward_pre_hook(lambda module, inputs: shapes.append((module, inputs[0])))
        for module in tail.modules()
        if isinstance(module, nn.Conv2d)
    ]
    tail(values.x[:BATCH])
    for hook in hooks:
        hook.remove()
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    return sum(_best(layer, x.detach().to(dtype), x.requires_grad, repeats) for layer, x in shapes)


def _best(layer: nn.Conv2d, x: Tensor, inner: bool, repeats: int) -> float:
    """Time one convolution and its gradients (that of its input only if the step needs it)."""
    where = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)
    ways: dict[str, Callable[[], object]] = {}
    for layout in (torch.contiguous_format, torch.channels_last):
        image, weight = (
            t.detach().to(x.dtype).contiguous(memory_format=layout) for t in (x, layer.weight)
        )
        forward = partial(torch.ops.aten.convolution, image, weight, None, *where)
        gradient = torch.randn_like(forward())
        backward = partial(
            torch.ops.aten.convolution_backward, gradient, image, weight, None, *where
        )
        ways |= {f"forward {layout}": forward}
        ways |= {f"weight {layout}": partial(backward, [False, True, False])}
        if inner:
            ways |= {f"input {layout}": partial(backward, [True, False, False])}
    times = interleaved({name: partial(_often, way) for name, way in ways.items()}, repeats)
    parts = {name.split()[0] for name in times}
    return sum(min(t for n, t in times.items() if n.startswith(part)) for part in parts) / 5


def _often(action: Callable[[], object]) -> None:
    for _ in range(5):
        action()


def _rest(train: Callable[[], None]) -> dict[str, float]:
    """Return the three largest shares of a step's time, beside the convolutions."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        train()
    spent: Counter[str] = Counter()
    for event in seen.key_averages():
        kind = next((kind for key, kind in KINDS.items() if key in event.key), "the rest")
        spent[kind] += event.self_cpu_time_total
    total = spent.total()
    del spent["convolution"]
    return {kind: time / total for kind, time in spent.most_common(3)}

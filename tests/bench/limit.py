"""How near a step comes to the best that the machine gives for its convolutions alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import Recipe, fit
from tests.bench.section import Row, Section
from tests.bench.subjects import BATCH, Subject
from tests.bench.timing import interleaved


def section(subjects: Sequence[Subject], repeats: int) -> Section:
    """Compare a whole step with its convolutions alone."""
    return Section(
        title="A step behind the first feature, and its convolutions alone, in ms",
        columns=("", "step", "convolutions", "share"),
        rows=_rows(subjects, repeats),
    )


def _rows(subjects: Sequence[Subject], repeats: int) -> Iterator[Row]:
    for subject in subjects:
        for precision in ("fp32", "bf16"):
            found = _step(subject, precision, repeats)
            times = (f"{1000 * seconds:.2f}" for seconds in found.values())
            share = f"{found['convolutions'] / found['step']:.0%}"
            yield (f"{subject.network} {precision}", *times, share), found


def _step(subject: Subject, precision: str, repeats: int) -> dict[str, float]:
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
        "step": (times["3"] - times["1"]) / 16,
        "convolutions": _convolutions_alone(tail, values, precision, repeats),
    }


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

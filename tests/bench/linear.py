"""The linear readout's seconds for each layer of cnn3 at 60,000 images, MNIST's number and size."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from probe.cut.cuts import cut_each
from probe.examples import Examples
from probe.readouts.linear import fit_linear
from probe.readouts.matrix import feature_matrices
from probe.seeding import stream
from tests.bench.section import Row, Section
from tests.bench.subjects import SUBJECTS
from tests.bench.timing import interleaved

EXAMPLES = 60_000
_PATTERNS = 8  # of each class
LAYERS = ("conv1", "conv2", "conv3")


def section(repeats: int) -> Section:
    """Fit each layer, and all of them with the one pass that gives their values."""
    title = f"Linear readout of cnn3 at {EXAMPLES:,} images, median of {repeats}"
    columns = ("layer", "values", "iterations", "left", "right", "seconds")
    return Section(title=title, columns=columns, rows=_rows(repeats))


def _rows(repeats: int) -> Iterator[Row]:
    model, data = SUBJECTS[0].model().eval(), _images()
    cuts = cut_each(model, LAYERS, data.x[:8]).each
    found = feature_matrices(cuts, data.x)
    passing = interleaved({"pass": lambda: feature_matrices(cuts, data.x)}, repeats)["pass"]
    yield ("one pass over the images", "", "", "", "", f"{passing:.1f}"), {"seconds": passing}
    total = passing
    for layer, matrix in found.items():
        x = matrix.values
        taken = interleaved({layer: lambda x=x: fit_linear(x, data.y, 10)}, repeats)[layer]
        total += taken
        fit = fit_linear(x, data.y, 10)
        right = float((fit.predict(x) == data.y).double().mean())
        cells = (f"{x.shape[1]}", f"{fit.iterations}", f"{fit.left:.0e}", f"{right:.1%}")
        yield (layer, *cells, f"{taken:.1f}"), {"seconds": taken, "iterations": fit.iterations}
    yield ("together", "", "", "", "", f"{total:.1f}"), {"seconds": total}


def _images() -> Examples:
    """Return blends of coarse patterns, of which each class has several, under noise.

    The class is that of the stronger pattern: where both are nearly as strong it is hard to tell,
    so that a fit takes tens of iterations.
    """
    draw = stream(0, "linear")
    coarse = torch.rand(10 * _PATTERNS, 1, 7, 7, generator=draw)
    patterns = coarse.repeat_interleave(4, 2).repeat_interleave(4, 3)
    strong, weak = torch.randint(len(patterns), (2, EXAMPLES), generator=draw)
    share = torch.empty(EXAMPLES, 1, 1, 1).uniform_(0.5, 1, generator=draw)
    noise = torch.rand(EXAMPLES, 1, 28, 28, generator=draw)
    blend = share * patterns[strong] + (1 - share) * patterns[weak]
    return Examples(0.7 * blend + 0.3 * noise, strong % 10)

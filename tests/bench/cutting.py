"""The cost of a cut: seconds, and forward passes of 64 examples that take as long."""

from functools import partial

import torch
from torchvision import models

from probe.cut.cuts import cut_each
from probe.retrain import SAMPLE
from tests.bench.timing import interleaved

PASS = 64  # examples
_STAGES = ("maxpool", "layer1", "layer2", "layer3", "layer4")
_ENCODER = tuple(f"encoder.layers.encoder_layer_{at}" for at in (2, 5, 8, 11))
CUTTINGS = (
    (models.resnet50, 224, _STAGES),
    (models.resnet18, 64, (*_STAGES, "avgpool")),
    (models.vit_b_16, 224, _ENCODER),
)
"""Networks, the size of their images, and the features at which they are cut."""


def cuts(repeats):
    """Cutting at all features, in s and in forward passes of 64 examples."""
    yield (
        "network, features",
        "a pass",
        "cut",
        "other weights",
        "passes",
        "passes, other",
    )
    for build, pixels, features in CUTTINGS:
        model = build().eval()
        x = torch.randn(PASS, 3, pixels, pixels)
        first = cut_each(model, features, x[:SAMPLE])
        actions = {
            "pass": partial(forward, model, x),
            "cut": partial(cut_each, model, features, x[:SAMPLE]),
            "again": partial(first.of, model),
        }
        times = interleaved(actions, 1 if pixels > 100 else repeats)
        seconds = [
            *times.values(),
            times["cut"] / times["pass"],
            times["again"] / times["pass"],
        ]
        title = f"{build.__name__} at {pixels}, {len(features)}"
        yield (title, *(f"{each:.2f}" for each in seconds))


@torch.no_grad()
def forward(model, x):
    """Run a model on a batch."""
    model(x)

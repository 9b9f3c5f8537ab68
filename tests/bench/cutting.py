"""The cost of a cut: seconds, and forward passes of 64 examples that take as long."""

import gc
import sys
import weakref
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from subprocess import run
from time import perf_counter

import torch
from torch import nn
from torchvision import models

from probe.cut.candidates import candidates
from probe.cut.cuts import cut_each
from probe.retrain import SAMPLE, retrain_each
from probe.retraining import RetrainSettings
from probe.training.recipe import Recipe
from tests.bench.speed import SUBJECTS, forward
from tests.bench.timing import Rows, interleaved

PASS = 64  # examples
_STAGES = ("maxpool", "layer1", "layer2", "layer3", "layer4")
_ENCODER = tuple(f"encoder.layers.encoder_layer_{at}" for at in (2, 5, 8, 11))
CUTTINGS: Sequence[tuple[Callable[[], nn.Module], int, tuple[str, ...]]] = (
    (models.resnet50, 224, _STAGES),
    (models.resnet18, 64, (*_STAGES, "avgpool")),
    (models.vit_b_16, 224, _ENCODER),
)
"""Networks, the size of their images, and the features at which they are cut."""


def cuts(repeats: int) -> Rows:
    """Cutting at all features, in s and in forward passes of 64 examples."""
    yield "network, features", "a pass", "cut", "other weights", "passes", "passes, other"
    for build, pixels, features in CUTTINGS:
        model, x = build().eval(), torch.randn(PASS, 3, pixels, pixels)
        first = cut_each(model, features, x[:SAMPLE])
        actions: dict[str, Callable[[], object]] = {
            "pass": partial(forward, model, x),
            "cut": partial(cut_each, model, features, x[:SAMPLE]),
            "again": partial(first.of, model),
        }
        times = interleaved(actions, 1 if pixels > 100 else repeats)
        seconds = [*times.values(), times["cut"] / times["pass"], times["again"] / times["pass"]]
        title = f"{build.__name__} at {pixels}, {len(features)}"
        yield (title, *(f"{each:.2f}" for each in seconds))


def looks(repeats: int) -> Rows:
    """Looking at every module of a model, in s; for `probe layers` on the clock, with its start."""
    tiny = models.VisionTransformer(32, 4, 12, 3, 192, 768, num_classes=10)
    look = partial(candidates, tiny, torch.randn(3, 3, 32, 32))
    command = [sys.executable, "-m", "scenarios", "layers"]
    command += ["torchvision.models:resnet18", "--input", "3x224x224"]
    start = partial(run, command, check=True, capture_output=True)
    yield "candidates, ViT-Ti at 32", f"{interleaved({'': look}, repeats)['']:.2f}"
    taken = interleaved({"": start}, repeats, perf_counter)[""]
    yield "probe layers, resnet18 at 224", f"{taken:.2f}"


def copies(repeats: int) -> Rows:
    """Copies of the model alive at a time while it is retrained at 12 features of a resnet18."""
    model = models.resnet18(num_classes=10)
    blocks = [f"layer{stage}.{block}" for stage in range(1, 5) for block in range(2)]
    features = ["maxpool", *blocks, "layer1.0.conv1", "layer2.0.conv1", "avgpool"]
    alive: weakref.WeakSet[nn.Module] = weakref.WeakSet()
    most = 0

    class Counted(models.ResNet):
        def __deepcopy__(self, memo: dict[int, object]) -> nn.Module:
            nonlocal most
            made = self.__reduce_ex__(4)
            copy: nn.Module = made[0](*made[1])
            memo[id(self)] = copy
            copy.__dict__ = deepcopy(self.__dict__, memo)
            alive.add(copy)
            gc.collect()
            most = max(most, len(alive))
            return copy

    model.__class__ = Counted
    data = SUBJECTS[1].images(16)
    how = RetrainSettings(recipe=Recipe(epochs=1, batch_size=8))
    for _ in retrain_each(model, features, data, data, 10, how):
        pass
    yield f"{len(features)} features", str(most)

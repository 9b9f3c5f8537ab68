"""The cost of a cut: seconds, and forward passes of 64 examples that take as long."""

import gc
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from subprocess import run

import torch
from torch import Tensor, nn
from torchvision import models

from probe.cut.candidates import candidates
from probe.cut.cuts import cut_each
from probe.retrain import SAMPLE, retrain_each
from probe.retraining import RetrainSettings
from probe.training.recipe import Recipe
from probe.values.cache import ValueCache
from tests.bench import obvious
from tests.bench.section import Row, Section
from tests.bench.subjects import BATCH, SUBJECTS, Subject
from tests.bench.timing import interleaved

PASS = 64  # examples


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """A network that is cut at some features, and the size of its images."""

    build: Callable[[], nn.Module]
    pixels: int
    features: tuple[str, ...]

    def images(self, n: int) -> Tensor:
        return torch.randn(n, 3, self.pixels, self.pixels)


_STAGES = ("maxpool", "layer1", "layer2", "layer3", "layer4")
CUTTINGS = {
    "resnet50 at 224": Cutting(build=models.resnet50, pixels=224, features=_STAGES),
    "resnet18 at 64": Cutting(build=models.resnet18, pixels=64, features=(*_STAGES, "avgpool")),
    "vit_b_16 at 224": Cutting(
        build=models.vit_b_16,
        pixels=224,
        features=tuple(f"encoder.layers.encoder_layer_{at}" for at in (2, 5, 8, 11)),
    ),
}


def section(repeats: int) -> Section:
    """Time the first cut of an architecture, the same for other weights, and planning."""
    return Section(
        title=f"Cutting at all features, and forward passes of {PASS} examples that take as long",
        columns=("network, features", "a pass", "cut", "passes", "other weights", "plan"),
        rows=_rows(repeats),
    )


def _rows(repeats: int) -> Iterator[Row]:
    for name, cutting in CUTTINGS.items():
        found = _costs(cutting, 1 if cutting.pixels > 100 else repeats)
        cells = (found[key] for key in ("pass", "cut", "passes", "again", "plan"))
        title = f"{name}, {len(cutting.features)}"
        yield (title, *(f"{cell:.2f}" for cell in cells)), found


def _costs(cutting: Cutting, repeats: int) -> dict[str, float]:
    model, x = cutting.build().eval(), cutting.images(PASS)
    cuts = cut_each(model, cutting.features, x[:SAMPLE])
    if slow := [cut.name for cut in cuts.each if cut.slow]:
        raise RuntimeError(f"not cached: {slow}")
    cache = ValueCache(None, BATCH, torch.device("cpu"))
    actions: dict[str, Callable[[], object]] = {
        "pass": partial(_forward, model, x),
        "cut": partial(cut_each, model, cutting.features, x[:SAMPLE]),
        "again": partial(cuts.of, model),
        "plan": partial(cache.plan, cuts.each, (1000, 100)),
    }
    found = interleaved(actions, repeats)
    return {**found, "passes": found["cut"] / found["pass"]}


@torch.no_grad()
def _forward(model: nn.Module, x: Tensor) -> None:
    for batch in x.split(BATCH):
        model(batch)


def looks(repeats: int) -> Section:
    """Time what looks at all features of a model, the command with its start included."""
    return Section(
        title="Looking at every module of a model, in s",
        columns=("", "s", "features"),
        rows=_looks(repeats),
    )


def _looks(repeats: int) -> Iterator[Row]:
    tiny = models.VisionTransformer(32, 4, 12, 3, 192, 768, num_classes=10)
    x = torch.randn(3, 3, 32, 32)
    seconds = interleaved({"": partial(candidates, tiny, x)}, repeats)[""]
    count = len(candidates(tiny, x))
    yield ("candidates, ViT-Ti at 32", f"{seconds:.2f}", f"{count}"), seconds
    command = [sys.executable, "-m", "scenarios", "layers"]
    command += ["torchvision.models:resnet18", "--input", "3x224x224"]
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        shown = run(command, check=True, capture_output=True, text=True).stdout
        times.append(time.perf_counter() - start)
    yield ("probe layers, resnet18 at 224", f"{sorted(times)[repeats // 2]:.2f}", ""), len(shown)


def filling(subjects: Sequence[Subject], repeats: int) -> Section:
    """Compare the filling of caches with the bare forward pass in the faster layout."""
    return Section(
        title="Filling the caches, as a multiple of the bare forward pass in the faster layout",
        columns=("network, features", "bare, ms", "filling, ms", "multiple"),
        rows=_fillings(subjects, repeats),
    )


def _fillings(subjects: Sequence[Subject], repeats: int) -> Iterator[Row]:
    for subject in subjects:
        model = subject.model().eval()
        stages = obvious.stages(model)
        for title, features in (("all", stages), (stages[-1], stages[-1:])):
            found = _filling(subject, model, features, repeats)
            cells = f"{1000 * found['bare']:.3f}", f"{1000 * found['fill']:.3f}"
            multiple = found["fill"] / found["bare"]
            yield (f"{subject.network}, {title}", *cells, f"{multiple:.2f}x"), found


def _filling(
    subject: Subject, model: nn.Module, features: Sequence[str], repeats: int
) -> dict[str, float]:
    """Return seconds for one example, from runs of n and of 3n: what is done once drops out."""
    n = subject.n
    x = subject.images(3 * n).x
    last = x.contiguous(memory_format=torch.channels_last)
    cuts = cut_each(model, features, x[:SAMPLE]).each
    cache = ValueCache(None, BATCH, torch.device("cpu"))
    plan = cache.plan(cuts, (3 * n, 0))
    actions: dict[str, Callable[[], object]] = {}
    for size in (n, 3 * n):
        actions |= {
            f"fill {size}": partial(cache.rows, cuts, plan, x[:size]),
            f"plain {size}": partial(_forward, model, x[:size]),
            f"last {size}": partial(_forward, model, last[:size]),
        }
    times = interleaved(actions, repeats)
    each = {w: (times[f"{w} {3 * n}"] - times[f"{w} {n}"]) / (2 * n) for w in ("fill", "plain")}
    channels_last = (times[f"last {3 * n}"] - times[f"last {n}"]) / (2 * n)
    return {"fill": each["fill"], "bare": min(each["plain"], channels_last)}


def copies() -> Section:
    """Count how many copies of a model live at a time while it is retrained at 12 features."""
    return Section(
        title="Copies of the model alive at a time, 12 features of a resnet18",
        columns=("", "most"),
        rows=_copies(),
    )


def _copies() -> Iterator[Row]:
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
    yield (f"{len(features)} features", str(most)), most

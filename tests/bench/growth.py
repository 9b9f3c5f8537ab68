"""Growth of a study's cost along each of its axes: processor time of its jobs and tables."""

from functools import partial

import numpy as np

from scenarios.execution.schedule import inline
from tests.bench.timing import interleaved, scratch
from tests.scenarios.execution.helpers import finish, work_of

BASE = {
    "features": 3,
    "tasks": 6,
    "orders": 2,
    "seeds": 1,
    "epochs": 8,
    "examples": 100,
}
SIZES = {
    "features": (1, 2, 3),
    "tasks": (3, 6, 12),
    "orders": (1, 2, 4),
    "seeds": (1, 2, 4),
    "epochs": (4, 8, 16),
    "examples": (50, 100, 200),
}
FEATURES = ["conv3", "conv2", "conv1"]
_SHAPE, _TEST = (1, 8, 8), 30  # of an image; test examples of a class


def growth(repeats):
    """Seconds of a study by features, tasks, orders, seeds, epochs and examples of a class."""
    yield "axis", "sizes", "seconds", "", "", "large / middle"
    for axis, sizes in SIZES.items():
        times = interleaved(
            {str(n): partial(_study, BASE | {axis: n}) for n in sizes}, repeats
        )
        _, middle, large = times.values()
        seconds = (f"{each:.1f}" for each in times.values())
        yield (axis, ", ".join(times), *seconds, f"{large / middle:.2f}")


def _study(size):
    """Run a study of that size: fine-tuning on two classes of noise a task, with both readouts."""
    with scratch() as folder:
        data = _noise(folder / "noise.npz", 2 * size["tasks"], size["examples"])
        recipe = {"epochs": size["epochs"], "batch_size": 32}
        work = work_of(
            folder / "run",
            scenario={"data": str(data), "classes_per_task": 2},
            network={"name": "cnn3", "features": FEATURES[: size["features"]]},
            learners={"finetune": {}},
            orders=f"shuffle:{size['orders']}",
            seeds=size["seeds"],
            training=recipe,
            retraining=recipe,
        )
        finish(work, inline)


def _noise(path, classes, n):
    """Write a feature file of noise around each class's mean image; n: of each to train on."""
    draw = np.random.default_rng(0)
    means = draw.normal(size=(classes, *_SHAPE))
    arrays = {}
    for half, count in (("train", n), ("test", _TEST)):
        y = np.repeat(np.arange(classes), count)
        noise = draw.normal(size=(len(y), *_SHAPE))
        arrays |= {f"x_{half}": (means[y] + noise).astype(np.float32), f"y_{half}": y}
    np.savez(path, **arrays)
    return path

"""A user's program: `make types` checks that mypy knows the public surface.

Nobody runs it. What is wrong in it has to be told, or the comment on it is an error.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import probe


@probe.network("tiny", features=["0"])
def build() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


@probe.data("noise")
def load() -> object:
    return (X, Y), (X, Y)


@probe.metric("last")
def last(R: probe.AccuracyMatrix) -> float:
    return R.cell(R.tasks, R.tasks)


@probe.readout("first")
class First:
    label: int = 0

    def predict(self, x: Tensor, y: Tensor, test: Tensor, classes: int) -> Tensor:
        return test


@probe.learner("mine")
class Mine: ...


X, Y = np.zeros((20, 4), np.float32), np.arange(20) % 2
half, sample = (
    TensorDataset(torch.zeros(10, 4), torch.arange(10) % 2),
    torch.zeros(3, 4),
)
model = probe.Model(build(), call=lambda net, x: net(x), fresh=build)
measure = probe.Measure(
    readouts=["retrain", First(label=1)], cache=probe.CacheSettings(budget=9)
)
once = probe.Recipe(epochs=1, batch_size=8)
result = probe.partial_retrain(
    model, ["0"], (X, Y.tolist()), (X, Y), [[0], [1]], once, seed=1
)
counts: probe.Counts = result.counts["0"]
pairs, loaders = [(X, Y), (X, Y)], [DataLoader(half), half]
found: probe.Analysis = probe.analyze(
    {2: build()}, [half, half], loaders, readouts=measure
)
examples = probe.Examples(torch.zeros(2, 4), torch.arange(2))
found = probe.analyze({0: build(), 2: build()}, [examples, examples], pairs)
probe.Recorder("rec", build(), (X, Y), [[0], [1]], train=pairs).after_task(1)
names = [one.feature for one in probe.candidates(build(), sample)]
print(
    probe.load("rec"),
    probe.split(build(), "0", sample),
    probe.cut_each(build(), names, sample),
)
print(*probe.cache_plan(build(), names, sample, (60, 10)))
R, rows = found.R.values.tolist(), probe.predictions(found)["predicted"]
lost = probe.example_causes(found, "loss")["lost"].sum()
tasks = [(torch.zeros(4, 4), torch.arange(4) % 2)]
print(probe.causes({1: build()}, tasks, lambda net, x, y: net(x)[:, 0])["value"])
watch = probe.Watch(old=(X, Y), tolerate=0.05)
try:
    pair: probe.Diff = probe.diff(build(), build(), (X, Y), half, score="loss")
except probe.TooMuchLost as error:
    print(error.diff)
score: float = probe.metrics.forgetting(R, k=2) + probe.metrics.pra(counts.table)
score += probe.metrics.intransigence(R, np.array(R)) + probe.metrics.gem_bwt(found.R)

probe.analyze({2: build()}, 3, (X, Y))  # type: ignore
probe.analyze({2: build()}, (X, Y), (X, Y), output="logits")  # type: ignore
probe.metrics.forgetting(R, k="2")  # type: ignore
probe.metrics.forgetting(object())  # type: ignore

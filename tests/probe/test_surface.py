"""The public surface: `dir(probe)`, its help and signatures, and its types in a user's program."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import probe

PROGRAM = '''
"""A user's program that uses every public name."""

from pathlib import Path

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
        return y.new_full((len(test),), self.label)


@probe.learner("mine")
class Mine:
    def learn(self) -> None: ...

    def restore(self) -> None: ...


X, Y = np.zeros((20, 4), np.float32), np.arange(20) % 2
HALF = TensorDataset(torch.zeros(10, 4), torch.arange(10) % 2)
MODEL = probe.Model(build(), call=lambda net, x: net(x), fresh=build)
ONCE = probe.Recipe(epochs=1, batch_size=8)
MEASURE = probe.Measure(readouts=["retrain", First(label=1)], cache=probe.CacheSettings(budget=9))

result = probe.partial_retrain(MODEL, ["0"], (X, Y.tolist()), (X, Y), [[0], [1]], ONCE, seed=1)
counts: probe.Counts = result.counts["0"]
found: probe.Analysis = probe.analyze(
    {2: build()}, [HALF, HALF], [DataLoader(HALF), HALF], readouts=MEASURE, recipe=ONCE
)
examples = probe.Examples(torch.zeros(2, 4), torch.arange(2))
found = probe.analyze({0: build(), 2: build()}, [examples, examples], [(X, Y), (X, Y)])
recorder = probe.Recorder(Path("rec"), build(), (X, Y), [[0], [1]], train=[(X, Y), (X, Y)])
recorder.after_task(1)
loaded = probe.load("rec")
cut = probe.split(build(), "0", torch.zeros(3, 4))
names = [one.feature for one in probe.candidates(build(), torch.zeros(3, 4))]
features = [one.name for one in probe.cut_each(build(), names, torch.zeros(3, 4)).each]
print(*probe.cache_plan(build(), features, torch.zeros(3, 4), (60, 10)), cut.frozen, loaded)
R = found.R.values.tolist()
score: float = probe.metrics.forgetting(R, k=2) + probe.metrics.pra(counts.table)
score += probe.metrics.intransigence(R, np.array(R)) + probe.metrics.gem_bwt(found.R)
'''

# What mypy must not accept: types that no form of the data, and no metric, has.
WRONG = """
probe.analyze({2: build()}, 3, (X, Y))
probe.analyze({2: build()}, (X, Y), (X, Y), output="logits")
probe.metrics.forgetting(R, k="2")
probe.metrics.forgetting(object())
"""


@pytest.mark.parametrize("name", probe.__all__)
def test_help_begins_with_a_sentence_and_an_example(name) -> None:
    sentence, example, *_ = (inspect.getdoc(getattr(probe, name)) or "").split("\n\n")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert example.startswith(">>> ")


@pytest.mark.parametrize("name", [name for name in probe.__all__ if name != "metrics"])
def test_a_signature_names_every_parameter_and_no_more(name) -> None:
    signature = inspect.signature(getattr(probe, name))
    kinds = {each.kind for each in signature.parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert len(str(signature)) < 700, "types by their names"


@pytest.mark.slow
def test_mypy_knows_the_surface(tmp_path) -> None:
    assert all(f"probe.{name}" in PROGRAM for name in probe.__all__)
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(PROGRAM)
    wrong.write_text(PROGRAM + WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*command, right], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([*command, wrong], capture_output=True, text=True, check=False)
    first = PROGRAM.count("\n") + 2
    told = {line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line}
    assert told == {str(first + at) for at in range(WRONG.count("\n") - 1)}, done.stdout

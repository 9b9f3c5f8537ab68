"""A wide line of a 1-D convolution, read as scikit-learn reads its average over time."""

import os
from pathlib import Path

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import probe
from probe.examples import Examples
from probe.readouts.readout import Linear
from scenarios.data.speech import spoken_digits

SPEECH = Path(os.environ.get("PROBE_DATA", "")) / "fsdd.npz"


def sounds():
    """Return bands x time of spoken digits if PROBE_DATA has them, else of ten noisy tones."""
    if SPEECH.is_file():
        train, test = spoken_digits(SPEECH)
        return train.take(torch.randperm(2700)[:600]), test
    x = torch.randn(1200, 1, 24, 24)
    y = torch.arange(1200) % 10
    x[torch.arange(1200), 0, 2 * y] += torch.rand(1200, 24)
    return Examples(x[:600], y[:600]), Examples(x[600:], y[600:])


def net():
    convs = nn.Conv1d(24, 64, 3), nn.ReLU(), nn.Conv1d(64, 32, 3), nn.ReLU()
    return nn.Sequential(
        nn.Flatten(1, 2),
        *convs,
        nn.Flatten(),
        nn.Linear(640, 10),
    )


def test_floor_ceiling_and_learner_are_those_of_the_average_over_time():
    """The control: the average over channels is another."""
    torch.manual_seed(0)
    (train, test) = sounds()
    nets = {name: net() for name in ("floor", "accuracy", "ceiling")}
    given = (
        {2: nets["accuracy"]},
        train,
        test,
        [
            range(5),
            range(5, 10),
        ],
        ["1", "3"],
    )
    found = probe.analyze(
        *given,
        nets["floor"],
        nets["ceiling"],
        [Linear(pool="mean")],
    )
    table = found.to_pandas("layers").query(
        "task_position.isna() and feature != 'output'"
    )
    rows = [row for row in table.itertuples() if row.quantity in nets]
    assert len(rows) == 6
    for row in rows:
        inner = nets[row.quantity][: int(row.feature) + 1].requires_grad_(False)
        score = {}
        for dim in (1, 2):
            fit = make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000))
            fit.fit(inner(train.x).mean(dim), train.y)
            score[dim] = fit.score(inner(test.x).mean(dim), test.y)
        assert row.value == pytest.approx(score[2], abs=0.01)
        assert abs(score[1] - score[2]) > 0.1

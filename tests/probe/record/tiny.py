"""Three small tasks, a network for them, and an evaluation that knows nothing of the recorder."""

import copy

import numpy as np
import torch
from torch import nn

from probe.examples import Examples
from probe.record.recording import read_recording
from probe.record.state_files import fit_state, load_state

TASKS = ((0, 1), (2, 3), (4, 5))


def examples(n=120, seed=0):
    """Noisy points around six corners, (N, 8), every class equally often."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 6
    corners = torch.randn(6, 8, generator=torch.Generator().manual_seed(9))
    return Examples(corners[y] + 1.2 * torch.randn(n, 8, generator=draw), y)


def network(seed=0):
    """With all that an evaluation could change: batch norm, dropout, a layer left in eval mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(8, 16),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(16, 6),
        )


def train(model, data, classes, steps=20):
    """Fine-tune on one task, with batches and masks from the global generator."""
    own = data.of_classes(classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    for _ in range(steps):
        rows = torch.randint(len(own), (16,))
        loss = nn.functional.cross_entropy(model(own.x[rows]), own.y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accuracies(logits, test, tasks=TASKS):
    """Return one row of R: of a task's examples, one at a time, the share that is right."""
    row = []
    for task in tasks:
        own = [
            (x, int(y)) for x, y in zip(test.x, test.y, strict=True) if int(y) in task
        ]
        with torch.no_grad():
            right = [int(logits(x[None])[0].argmax()) == y for x, y in own]
        row.append(sum(right) / len(right))
    return row


def written(folder, names):
    """Make empty files of these names in a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def same_state(a, b):
    """Whether two state dicts are equal, bit for bit."""
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


def assert_unnoticed(plain, recorder, fit, row, tasks=TASKS, together=False):
    """Check R, the networks that are kept, and that a training does not notice its recorder.

    plain: as the recorder's model, trained alone; fit(module, task, recorded): trains
    on one task, or with `together` on all; row(module): a row of R.
    """
    model = recorder.model
    torch.manual_seed(4)
    states, rows = [], [row(copy.deepcopy(plain).eval())]
    for task in tasks:
        fit(plain, task, False)
        states.append(copy.deepcopy(plain.state_dict()))
        rows.append(row(copy.deepcopy(plain).eval()))
    draws = torch.rand(3)
    torch.manual_seed(4)
    for task in [tasks] if together else tasks:
        fit(model, task, True)
    assert torch.equal(draws, torch.rand(3))
    assert same_state(plain.state_dict(), model.state_dict())
    np.testing.assert_array_equal(recorder.R.values, rows)
    assert not recorder.every or set(recorder.course.tasks_seen) == {0, 1, 2, 3}
    files = read_recording(recorder.folder).checkpoints.runs[recorder.run]
    for learned, state in enumerate(states, 1):
        fit_state(model, load_state(files[learned]), "own")
        assert same_state(model.state_dict(), state)

"""Freeze each layer of README's network after the first task, beside what it is charged with.

The charge of a layer says what its change did in the network that was trained. What
another training would have given, only that training says: see docs/two_checkpoints.md.

    python docs/examples/frozen_layers.py    # half a minute on one core
"""

from collections import OrderedDict
from copy import deepcopy

import pandas as pd
import torch
from sklearn.datasets import load_digits
from torch import nn

import probe

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float(), torch.tensor(labels)
train, test = probe.Examples(x[:1400], y[:1400]), probe.Examples(x[1400:], y[1400:])
tasks = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
layers = ["hidden1", "hidden2", "output"]
tests = [(task.x, task.y) for task in map(test.of_classes, tasks)]


def build():
    """Return a new network."""
    hidden1 = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
    hidden2 = nn.Sequential(nn.Linear(128, 32), nn.ReLU())
    return nn.Sequential(
        OrderedDict(hidden1=hidden1, hidden2=hidden2, output=nn.Linear(32, 10))
    )


def learn(model, classes):
    """Train what is not frozen on all examples of a task at once, 200 times."""
    data = train.of_classes(classes)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=0.003)
    for _ in range(200):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data.x), data.y).backward()
        optimizer.step()


def networks(seed, frozen=None):
    """Return the networks of one training by tasks learned, a layer frozen after the first task."""
    torch.manual_seed(seed)
    model = build()
    by_tasks_learned = {}
    for tasks_learned, classes in enumerate(tasks, 1):
        if frozen and tasks_learned == 2:
            model.get_submodule(frozen).requires_grad_(False)
        learn(model, classes)
        by_tasks_learned[tasks_learned] = deepcopy(model)
    return by_tasks_learned


@torch.no_grad()
def accuracy(model, tasks_learned, task):
    """Return the accuracy on a task, in %; the classes of all tasks learned compete."""
    x, y = tests[task - 1]
    scores = model(x)[:, : 2 * tasks_learned]
    return 100 * float((scores.argmax(1) == y).double().mean())


def summary(by_tasks_learned):
    """Return the mean accuracy right after each task and at the end, and what was forgotten."""
    learned = pd.Series(
        {t: accuracy(model, t, t) for t, model in by_tasks_learned.items()}
    )
    last = pd.Series({t: accuracy(by_tasks_learned[5], 5, t) for t in by_tasks_learned})
    forgotten = (learned - last)[:4].mean()
    return {
        "forgotten": forgotten,
        "learned": learned.mean(),
        "at the end": last.mean(),
    }


def mean_over_seeds(frozen=None):
    """Return the mean summary of three trainings."""
    return pd.DataFrame([summary(networks(seed, frozen)) for seed in range(3)]).mean()


networks_by_seed = {seed: networks(seed) for seed in range(3)}
causes = probe.causes(networks_by_seed, tests, features=layers[:2]).set_index("feature")
charges = (100 * causes[["share", "broken", "restored"]]).assign(
    verdict=causes["verdict"]
)
trained = {
    "nothing": mean_over_seeds(),
    **{layer: mean_over_seeds(layer) for layer in layers},
}
table = charges.join(pd.DataFrame(trained).T, how="right")
print("share, broken, restored, verdict: of the network in which nothing is frozen")
print(
    table.rename_axis("frozen")
    .round(1)
    .reset_index()
    .to_string(index=False, na_rep="-")
)

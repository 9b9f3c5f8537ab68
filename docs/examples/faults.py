"""Plant faults in a small network, and print what shows them: see docs/two_checkpoints.md.

A convolutional network with batch norm learns scikit-learn's digits in five tasks, in
each with all digits so far. Each fault is planted in the network after the last task:

    python docs/examples/faults.py    # half a minute on one core
"""

from collections import OrderedDict
from copy import deepcopy

import torch
from sklearn.datasets import load_digits
from torch import nn

import probe
from probe.metrics.renaming import renamed_accuracy

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float().view(-1, 1, 8, 8), torch.tensor(labels)
train, test = probe.Examples(x[:1400], y[:1400]), probe.Examples(x[1400:], y[1400:])
tasks = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
layers = ["conv1", "conv2", "conv3"]


def build():
    """Return a new network."""
    sizes = zip(layers, [1, 8, 16], [8, 16, 32], strict=True)
    convs = {
        name: nn.Sequential(nn.Conv2d(a, b, 3), nn.BatchNorm2d(b), nn.ReLU())
        for name, a, b in sizes
    }
    return nn.Sequential(
        OrderedDict(**convs, flat=nn.Flatten(), output=nn.Linear(128, 10))
    )


def learn(model, data, epochs=5):
    """Train a network; return a copy as it is then."""
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for rows in [
        rows for _ in range(epochs) for rows in torch.randperm(len(data)).split(32)
    ]:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
        optimizer.step()
    return deepcopy(model.eval())


def networks(cumulative):
    """Return networks by tasks learned."""
    torch.manual_seed(0)
    model = build()
    models = {}
    for k in range(1, 6):
        models[k] = learn(
            model, train.of_classes(range(2 * k) if cumulative else tasks[k - 1])
        )
    return models


@torch.no_grad()
def renamed_head(model):
    """Move each output to the place of the next."""
    for parameter in model.output.parameters():
        parameter.copy_(parameter.roll(1, 0))


@torch.no_grad()
def diverged(model):
    """Give `conv2` large random weights."""
    model.conv2[0].weight.mul_(30 * torch.randn_like(model.conv2[0].weight))


def nan(model):
    """Give `conv2` weights that are not numbers."""
    model.conv2[0].weight.data.fill_(torch.nan)


def statistics(model):
    """Give the batch norm of `conv2` other statistics."""
    norm = model.conv2[1]
    norm.running_mean += 2 * norm.running_var.sqrt()
    norm.running_var *= 9


def dead(model):
    """Keep every unit of `conv3` at 0."""
    model.conv3[1].bias.data -= 10


def collapsed(model):
    """Make the output of class 7 the largest."""
    model.output.bias.data[7] += 100


def show(name, models, tasks=tasks):
    """Print what the tables say."""
    print(f"\n{name}")
    try:
        result = probe.analyze(models, train, test, tasks, layers, readouts=["linear"])
    except probe.errors.InputError as error:
        print("refused:", error)
        return
    values = 100 * result.matrix("output", "linear").values[1:]
    print(
        "accuracy by tasks learned and task:",
        *values.round().astype(int).tolist(),
        sep="\n  ",
    )
    causes = result.to_pandas("causes").query(
        "task_position.isna() and score == 'accuracy'"
    )
    held = result.layers().query("task_position.isna()")
    for title, table, quantity in (
        ("attributed, in points", causes, "attributed"),
        ("forgotten by readout, in points", held, "forgotten"),
    ):
        rows = table[table["quantity"] == quantity].set_index("feature")["value"]
        print(f"{title}: {(100 * rows).round(1).to_dict()}")
    rows = result.to_pandas("diagnostics").query(
        "metric == 'dead' and learner == 'model'"
    )
    print("dead:", rows.set_index("feature")["value"].round(2).to_dict())
    rows = probe.predictions(result).query("readout == '' and learner == 'model'")
    rows = rows[(rows["tasks_seen"] == 5) & (rows["head"] == rows["head"].iloc[0])]
    counts = probe.Counts.of(rows["label"].tolist(), rows["predicted"].tolist(), 10)
    right = (rows["label"] == rows["predicted"]).mean()
    print(
        f"accuracy {100 * right:.1f} %, renamed {100 * renamed_accuracy(counts):.1f} %"
    )
    print(*result.notes, sep="\n")


healthy, finetuned = networks(True), networks(False)
show("as trained", healthy)
for fault in (renamed_head, diverged, nan, statistics, dead, collapsed):
    models = deepcopy(healthy)
    torch.manual_seed(0)
    fault(models[5])
    show(fault.__name__, models)
show("fine-tuning", finetuned)
show("learning stops after task 3", {k: finetuned[min(k, 3)] for k in finetuned})
show("only the classes of the task compete", probe.Model(finetuned, head="multi"))
show("tasks in the reverse order", finetuned, tasks[::-1])

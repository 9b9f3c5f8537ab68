"""
Has the network really unlearned the classes?
=============================================

A small audit. A network knows ten digits, and the owner of 8 and 9 wants them deleted.
The cheapest deletion silences their two outputs. At the output that is perfect: 8 and 9
are never predicted again. Two controls show what the layers still hold:

- the *floor* here is a network trained without 8 and 9, which cannot know them;
- the *ceiling* is the original.

A probe that finds the classes in the audited network is no evidence by itself: it has
to find more than in the network that never saw them.
"""

from collections import OrderedDict
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import probe

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float(), torch.tensor(labels)
train, test = probe.Examples(x[:1400], y[:1400]), probe.Examples(x[1400:], y[1400:])
tasks = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def build():
    layer1 = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    layer2 = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    return nn.Sequential(
        OrderedDict(layer1=layer1, layer2=layer2, output=nn.Linear(64, 10))
    )


def learn(model, data, epochs=20):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()


tasks = [list(range(8)), [8, 9]]  # to keep, to delete

# %%
# ``{task}`` = 0 stands for the floor, 2 for the audited network. Three seeds.

with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        without, original = build(), build()
        learn(without, train.of_classes(tasks[0]))
        torch.save(without.state_dict(), f"{folder}/seed{seed}-task0.pt")
        learn(original, train)
        torch.save(original.state_dict(), f"{folder}/offline-{seed}.pt")
        with torch.no_grad():  # the deletion
            original.output.weight[8:] = 0
            original.output.bias[8:] = -100
        torch.save(original.state_dict(), f"{folder}/seed{seed}-task2.pt")
    result = probe.analyze(
        probe.Model(f"{folder}/seed{{seed}}-task{{task}}.pt", fresh=build),
        train,
        test,
        tasks,
        offline=f"{folder}/offline-{{seed}}.pt",
        readouts=["linear"],
    )

# %%
# Accuracy on 8 and 9 alone, by a linear readout of each layer, and at the output.

layers = result.to_pandas("layers").query("task_position == 2")
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
named = {"ceiling": "the original", "accuracy": "audited", "floor": "never saw 8 and 9"}
for shift, (quantity, label) in zip((-0.12, 0, 0.12), named.items(), strict=True):
    rows = layers.query(f"quantity == {quantity!r}")
    low, high = 100 * (rows.value - rows.low), 100 * (rows.high - rows.value)
    ax.errorbar(
        rows.depth + shift,
        100 * rows.value,
        (low, high),
        fmt="o",
        capsize=4,
        label=label,
    )
ax.set_xticks([1, 2, 3], ["layer1", "layer2", "output"])
ax.set(ylabel="Accuracy on 8 and 9 (%), 95 % intervals", ylim=(-5, 105))
ax.legend(loc="lower left")

# %%
for row in layers[layers.quantity.isin(named)].itertuples():
    ends = f"[{row.low:.1%}, {row.high:.1%}]"
    print(f"{row.feature:8}{named[row.quantity]:20}{row.value:7.1%}  {ends}")

# %%
# The evidence is the difference between "audited" and "never seen", paired by seed.

for row in layers.query("quantity == 'above_floor'").itertuples():
    ends = f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"
    print(f"{row.feature:8}{100 * row.value:5.1f} points above the floor {ends}")

# %%
# At the output the deletion looks perfect. Downstream of every hidden layer a linear
# readout finds 8 and 9 exactly as well as in the original: nothing was deleted there.
# But it finds most of them in the network that never saw them, too. An audit that
# reports "the probe recovers 86 %" without that floor is meaningless: only the
# difference counts, with its interval.

"""
Which layer forgot?
===================

A network learns ten digits in five tasks, and forgets the first four. Which layer's
change cost them, and what is still there?
"""

from collections import OrderedDict
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import figures
import probe

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float(), torch.tensor(labels)
train, test = probe.Examples(x[:1400], y[:1400]), probe.Examples(x[1400:], y[1400:])
tasks = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def build():
    hidden = {
        f"layer{i}": nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for i in (1, 2, 3)
    }
    return nn.Sequential(OrderedDict(**hidden, output=nn.Linear(64, 10)))


def learn(model, data, epochs=20):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()


folder = TemporaryDirectory()
for seed in range(5):
    torch.manual_seed(seed)
    model, joint = build(), build()
    for k, classes in enumerate(tasks, 1):
        learn(model, train.of_classes(classes))
        torch.save(model.state_dict(), f"{folder.name}/seed{seed}-task{k}.pt")
    learn(joint, train)  # on all tasks at once
    torch.save(joint.state_dict(), f"{folder.name}/joint-{seed}.pt")

# %%
# Each layer is put back as it was right after each task. A linear readout shows what
# the layer still holds.

result = probe.analyze(
    probe.Model(f"{folder.name}/seed{{seed}}-task{{task}}.pt", fresh=build),
    train,
    test,
    tasks,
    offline=f"{folder.name}/joint-{{seed}}.pt",
    readouts=["linear"],
)
folder.cleanup()
print(result)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for panel, ax in enumerate(axes, 1):
    figures.answer(result, ax=ax, panel=panel)

# %%
# The change of ``layer3`` cost most, and its readout falls below untrained. The
# output forgot everything, but its change did not cost most.

costs = result.causes().query("quantity == 'attributed' and task_position.isna()")
costs = costs.query("scope == 'training' and score == 'accuracy'")
costs = costs.set_index("feature")
assert costs["value"].idxmax() == "layer3"
assert costs.loc["layer3", "low"] > 0

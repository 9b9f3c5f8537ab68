"""
Which layer forgot?
===================

A network learns ten digits in five tasks of two, one after the other. At the end it is
right on the last task alone. Accuracy does not say what its layers still hold of the
first four tasks.

We save the weights after each task, with five seeds, and let :func:`probe.analyze` read
every layer: a linear classifier is fitted to the layer's values on all ten digits, and
tested on each task.
"""

# %%
# **Train as usual.** This part uses nothing of forgetting-probe except the class that holds inputs
# and labels.

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
    model, offline = build(), build()
    for k, classes in enumerate(tasks, 1):
        learn(model, train.of_classes(classes))
        torch.save(model.state_dict(), f"{folder.name}/seed{seed}-task{k}.pt")
    learn(offline, train)  # on all tasks at once: the ceiling
    torch.save(offline.state_dict(), f"{folder.name}/offline-{seed}.pt")

# %%
# **Read every layer.** The floor, an untrained network, is made by ``build``.

result = probe.analyze(
    probe.Model(f"{folder.name}/seed{{seed}}-task{{task}}.pt", fresh=build),
    train,
    test,
    tasks,
    offline=f"{folder.name}/offline-{{seed}}.pt",
    readouts=["linear"],
)
folder.cleanup()

# %%
# A cell shows how many points a layer is below the ceiling, the same readout of a
# network trained on all tasks at once. Its left half has the color of what was never
# learned, its right half of what was forgotten since.

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
figures.layers(result, ax=ax)

# %%
print(result)

# %%
# The output forgot. The hidden layers fall short, too, and the intervals show why: they
# learned the tasks less well than a network trained on all of them. None of them is
# shown to have forgotten.
#
# The answer would be meaningless without the ceiling, and without a look at the floor:
# an untrained layer does as well or better, so a high accuracy does not prove that the
# layer learned anything.

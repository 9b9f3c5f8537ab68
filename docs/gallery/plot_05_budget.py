"""
Was the retraining long enough?
===============================

Retraining the layers downstream of a frozen one takes epochs. With too few, a layer
seems to have lost what merely was not read out yet. ``Measure(budget=...)`` tests the
retrained network after multiples of the recipe's epochs: one training, several answers.
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


# %%
# Four epochs, which are few for 1,400 images, and 2, 4 and 8 times as many.

with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = build()
        for classes in tasks:
            learn(model, train.of_classes(classes))
        torch.save(model.state_dict(), f"{folder}/seed{seed}-task5.pt")
    result = probe.analyze(
        probe.Model(f"{folder}/seed{{seed}}-task{{task}}.pt", fresh=build),
        train,
        test,
        tasks,
        offline="train",
        readouts=probe.Measure(readouts=["retrain"], budget=[1, 2, 4, 8]),
        recipe=probe.Recipe(epochs=4, batch_size=32),
    )

# %%
# A line that still rises at the right has not converged; this holds for the floor, too.

fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for panel, ax in enumerate(axes, 1):
    figures.budget(result, ax=ax, panel=panel)

# %%
# A note names each training that has not converged. Statements name their epochs.

print(result.notes[3], "\n")
for row in result.statements().itertuples():
    if row.statement == "below_ceiling":
        print(f"{row.readout:10}{row.feature:8}{row.verdict}")

# %%
# More epochs raise every line. In ``layer2`` the floor rises most: after four epochs
# the untrained layer looks as bad as the fine-tuned one, later its mean is ahead,
# within overlapping bars. Even after 32 epochs the trainings have not converged: what
# is stated holds for these epochs. A retrained accuracy is meaningless without its
# budget; a linear readout converges and has none.

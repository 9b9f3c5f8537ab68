"""
Was the retraining long enough?
===============================

After too few epochs, a layer seems to have lost more than it has.
``Measure(budget=...)`` tests after multiples of the epochs.
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
# Retrain for four epochs, and 2, 4 and 8 times as many.

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

fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for panel, ax in enumerate(axes, 1):
    figures.budget(result, ax=ax, panel=panel)

# %%

print(result.notes[3], "\n")
for row in result.statements().itertuples():
    if row.statement == "below_ceiling":
        print(f"{row.readout:10}{row.feature:8}{row.verdict}")

# %%
# More epochs raise every line, the untrained one most. A retrained accuracy means
# nothing without its budget. A linear readout converges.

floors = result.layers().query(
    "quantity == 'floor' and feature == 'layer2' and task_position.isna()"
)
floors = floors.set_index("readout")["value"]
assert floors["retrain@8"] > floors["retrain"]

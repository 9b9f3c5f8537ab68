"""
How do I make a figure for my paper?
====================================

Draw figures into your own axes: they follow your matplotlib settings.
"""

from collections import OrderedDict
from copy import deepcopy

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
# Train once, in memory. ``seeds=3`` repeats only the retraining: say so in the
# caption.

torch.manual_seed(0)
model = build()
models = {0: deepcopy(model)}
for k, classes in enumerate(tasks, 1):
    learn(model, train.of_classes(classes))
    models[k] = deepcopy(model)
recipe = probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3)
measure = probe.Measure(seeds=3)
result = probe.analyze(
    models, train, test, tasks, offline="train", readouts=measure, recipe=recipe
)

# %%
# Draw two columns, 6.75 inches wide, in serif.

settings = {
    "font.family": "serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
with plt.rc_context(settings):
    fig, axes = plt.subplots(1, 2, figsize=(6.75, 3.6), layout="constrained")
    figures.depth(result, ax=axes[0], labels={"model": "Fine-tuning"})
    figures.layers(
        result, ax=axes[1], readouts=["linear"], labels={"model": "Fine-tuning"}
    )
    axes[0].set_title("(a) retrained")
    axes[1].set_title("(b) points missing, linear")

# %%
# Without your axes, ``figures.depth(result, width=3.25)`` makes one column. The
# command is ``probe figures DIR --only depth --format pdf``.

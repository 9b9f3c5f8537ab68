"""
How do I get the numbers out?
=============================

Save them as DataFrames, LaTeX, or a folder without pickles.
"""

from collections import OrderedDict
from copy import deepcopy
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


torch.manual_seed(0)
model = build()
models = {0: deepcopy(model)}
for k, classes in enumerate(tasks, 1):
    learn(model, train.of_classes(classes))
    models[k] = deepcopy(model)
result = probe.analyze(
    models,
    train,
    test,
    tasks,
    offline="train",
    readouts=probe.Measure(readouts=["linear", "ncm"]),
    recipe=probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3),
)

# %%
# Each measurement, or quantity of a layer, has a row.

print(
    result.to_pandas("measurements").tail(3)[
        ["learner", "tasks_seen", "feature", "metric", "value"]
    ]
)
layers = result.to_pandas("layers").query("task_position.isna()")
wide = layers.pivot(index=["readout", "feature"], columns="quantity", values="value")
print(wide[["accuracy", "floor", "ceiling", "missing", "forgotten"]].round(3))

# %%
# Plot one layer's accuracies after each task; untrained is dotted.

fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for color, readout in zip(("C0", "C1"), result.readouts, strict=True):
    on_task_1 = 100 * result.matrix("layer2", readout).values[:, 0]
    ax.plot(range(1, 6), on_task_1[1:], "o-", color=color, label=readout)
    ax.axhline(on_task_1[0], color=color, ls=":")
ax.set(
    xlabel="Tasks learned", ylabel="Accuracy on task 1 (%), layer2", xticks=range(1, 6)
)
ax.legend()

# %%
# Print LaTeX; save a folder that :func:`probe.load` reads.

print(result.latex())
with TemporaryDirectory() as folder:
    result.save(f"{folder}/mine")
    print(
        "read back:",
        probe.load(f"{folder}/mine").measurements().equals(result.measurements()),
    )

# %%
# With one training, intervals are for this network only.

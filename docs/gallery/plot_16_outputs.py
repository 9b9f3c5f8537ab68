"""
Forgotten, or only outvoted?
============================

All outputs may compete, or those of the classes seen so far, or the task's two. Each
choice gives another accuracy matrix.
"""

from collections import OrderedDict
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy import stats
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


# %%

heads = {
    "all outputs": None,
    "classes seen so far": "single",
    "classes of the task": "multi",
}
found = {name: [] for name in heads}
with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = build()
        recorders = {
            name: probe.Recorder(
                f"{folder}/{head}", model, test, tasks, seed=seed, head=head
            )
            for name, head in heads.items()
        }
        for k, classes in enumerate([[], *tasks]):
            if classes:
                learn(model, train.of_classes(classes))
            for recorder in recorders.values():
                recorder.after_task(k)
        for name, recorder in recorders.items():
            found[name].append(recorder.R)

# %%
# Row 0 is untrained, at chance.

fig, axes = plt.subplots(1, 3, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (name, matrices) in zip(axes, found.items(), strict=True):
    mean = np.mean([R.values for R in matrices], 0)
    ax.imshow(mean, vmin=0, vmax=1, cmap="Blues")
    for t, j in np.ndindex(mean.shape):
        color = "white" if mean[t, j] > 0.6 else "black"
        ax.text(j, t, f"{100 * mean[t, j]:.0f}", ha="center", va="center", color=color)
    ax.set(title=name, xlabel="Task")
    ax.set_xticks(range(5), range(1, 6))
axes[0].set_ylabel("Tasks learned")

# %%
# Print forgetting F (Chaudhry et al. 2018) in points, with 95 % intervals.

for name, matrices in found.items():
    values = np.array([100 * probe.metrics.forgetting(R) for R in matrices])
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    print(f"{name:22}{values.mean():6.1f} +- {half:.1f}")

# %%
# If only the task's two outputs compete, forgetting is smaller, and chance is 50 %.
# The rest was only outvoted.

forgetting = {
    name: np.mean([probe.metrics.forgetting(R) for R in matrices])
    for name, matrices in found.items()
}
assert forgetting["classes of the task"] < forgetting["all outputs"]

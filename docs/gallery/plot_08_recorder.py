"""
How do I record my own training loop?
=====================================

With two lines: create a :class:`probe.Recorder`, and call ``after_task`` when a task is
learned. It fills the accuracy matrix R and keeps the weights, so that every layer can
be read later. The model, its modes and all random generators are left as they were.
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
# The three seeds share a folder, which also keeps the data.

with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = build()
        recorder = probe.Recorder(folder, model, test, tasks, train=train, seed=seed)
        recorder.after_task(0)
        for k, classes in enumerate(tasks, 1):
            learn(model, train.of_classes(classes))
            recorder.after_task(k)
        print(f"seed {seed}: after all tasks {recorder.R.values[-1].round(2)}")
    recipe = probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3)
    recorded = probe.Model(folder, fresh=build)
    result = probe.analyze(
        recorded, offline="train", readouts=["linear"], recipe=recipe
    )

# %%
# R of the network itself, and the matrix A downstream of its last hidden layer.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
figures.matrix(result, ax=axes[0])
axes[0].set_title("R: the network itself")
A = result.matrix("layer2", "linear").values
axes[1].imshow(A, cmap="viridis", vmin=0, vmax=1)
for (t, j), value in [((t, j), A[t, j]) for t in range(6) for j in range(5)]:
    axes[1].text(j, t, f"{100 * value:.0f}", ha="center", va="center", color="black")
axes[1].set(
    title="A: a linear readout of layer2", xlabel="Task", ylabel="Tasks learned"
)
axes[1].set_xticks(range(5), range(1, 6))

# %%
# R says that all but the last task is lost; yet the last hidden layer tells all digits
# apart. But look at row 0: an untrained layer does so, too. Without that row, A would
# be mistaken for proof that the layer remembers.

"""
When in the sequence did it happen?
===================================

Forgetting can come with one task or creep in with all of them. The network of each row
of the accuracy matrix is read at every layer: accuracy on all ten digits against the
number of tasks learned. A falling line is a layer that loses something at that task.
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
# Three seeds; ``{task}`` runs from 0, the untrained network, to 5.

recipe = probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3)
with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = build()
        torch.save(model.state_dict(), f"{folder}/seed{seed}-task0.pt")
        for k, classes in enumerate(tasks, 1):
            learn(model, train.of_classes(classes))
            torch.save(model.state_dict(), f"{folder}/seed{seed}-task{k}.pt")
    networks = probe.Model(f"{folder}/seed{{seed}}-task{{task}}.pt", fresh=build)
    result = probe.analyze(
        networks,
        train,
        test,
        tasks,
        offline="train",
        readouts=["linear"],
        recipe=recipe,
    )

# %%
# Position 0 is the floor; the dashed ends at the right are the ceiling. In the left
# panel bars are one standard deviation over the seeds; the right panel shows means.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
figures.time(result, ax=axes[0])
axes[0].set_title("All tasks")
colors = plt.colormaps["viridis"]([0, 0.29, 0.59])
for color, feature in zip(colors, result.features, strict=True):
    A, C = result.matrix(feature, "linear").values, result.ceiling(feature, "linear")
    axes[1].plot(range(6), 100 * A[:, 0], "o-", color=color, label=feature)
    axes[1].plot([5.3, 5.7], [100 * C[0]] * 2, "--", color=color)
axes[1].set(title="Task 1 alone", xlabel="Tasks learned so far (0: untrained)")
axes[1].legend(loc="center")

# %%
# The accuracy matrix of the last hidden layer: a row for each number of tasks learned,
# a column for each task, mean over the seeds.

print(result.matrix("layer2", "linear").values.round(2))
print("ceiling", result.ceiling("layer2", "linear").round(2))

# %%
# The output loses task 1 with the very next task, and not little by little. The hidden
# layers do not follow: they stay about where they were before any training.
#
# Such a curve is meaningless without row 0: a line that falls back to where it began
# shows a layer no better than an untrained one, not a layer with nothing left.

"""
Can I bring a readout of my own?
================================

A readout is a decorated class with ``predict``. We write the nearest prototype by
angle, and a control that ignores the layer.
"""

from collections import OrderedDict
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import probe


@probe.readout("cosine")
class Cosine:
    centered: bool = True

    def predict(self, x, y, test, classes):  # (N, D), (N,), (M, D) -> (M,)
        center = x.mean(0) if self.centered else 0
        means = torch.stack(
            [(x - center)[y == label].mean(0) for label in range(classes)]
        )
        return (
            nn.functional.normalize(test - center)
            .matmul(nn.functional.normalize(means).T)
            .argmax(1)
        )


@probe.readout("majority")
class Majority:
    def predict(self, x, y, test, classes):
        return y.mode().values.expand(len(test))


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

readouts = ["linear", Cosine(centered=True), Majority()]
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
        readouts=readouts,
        recipe=probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3),
    )

# %%
layers = result.to_pandas("layers").query("task_position.isna()")
fig, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
for ax, feature in zip(axes, ["layer1", "layer2"], strict=True):
    for quantity, marker in {"ceiling": "^", "accuracy": "o", "floor": "v"}.items():
        rows = layers.query(f"feature == {feature!r} and quantity == {quantity!r}")
        low, high = 100 * (rows.value - rows.low), 100 * (rows.high - rows.value)
        ax.errorbar(
            rows.readout,
            100 * rows.value,
            (low, high),
            fmt=marker,
            capsize=3,
            label=quantity,
        )
    ax.axhline(10, color="black", lw=0.8, ls=":", label="chance")
    ax.set(title=feature, xlabel="Readout", ylim=(0, 100))
    ax.margins(x=0.2)
axes[0].set_ylabel("Accuracy (%), 95 % intervals")
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# The control is at chance in every layer. A new readout needs such a control, besides
# untrained and joint.

control = layers.query("readout == 'majority' and quantity == 'accuracy'")
hidden = control.query("feature != 'output'")
assert (hidden["value"] < 0.15).all()

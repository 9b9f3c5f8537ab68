"""
Do the readouts agree?
======================

Retraining rebuilds the network's own layers. A linear classifier tests what is
separable, ``ncm`` and ``knn`` how close a class's examples lie.
"""

from collections import OrderedDict
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


# %%

readouts = ["retrain", "linear", "ncm", "knn"]
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
        readouts=probe.Measure(readouts=readouts),
        recipe=probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3),
    )

# %%
# Plot accuracy between untrained and joint, by readout.

layers = result.to_pandas("layers").query("task_position.isna()")
fig, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
for ax, feature in zip(axes, ["layer1", "layer2"], strict=True):
    for quantity, marker in {"ceiling": "^", "accuracy": "o", "floor": "v"}.items():
        rows = layers.query(f"feature == {feature!r} and quantity == {quantity!r}")
        rows = rows.set_index("readout").loc[readouts]
        low, high = 100 * (rows.value - rows.low), 100 * (rows.high - rows.value)
        ax.errorbar(
            readouts,
            100 * rows.value,
            (low, high),
            fmt=marker,
            capsize=3,
            label=quantity,
        )
    ax.set(title=feature, xlabel="Readout")
    ax.margins(x=0.15)
axes[0].set_ylabel("Accuracy (%), 95 % intervals")
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# Print points below joint, and the verdict.

for row in result.statements().itertuples():
    if row.statement == "below_ceiling" and row.feature != "output":
        ends = f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"
        print(
            f"{row.feature:8}{row.readout:9}{100 * row.value:6.1f} "
            f"{ends:15}{row.verdict}"
        )

# %%
# All find something missing in ``layer2``, but differ on how much. Name the readout
# in a conclusion.

missing = result.statements().query(
    "statement == 'below_ceiling' and feature == 'layer2'"
)
assert (missing["low"] > 0).all()
assert missing.set_index("readout")["value"].idxmin() == "linear"

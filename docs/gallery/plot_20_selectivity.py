"""
Does the readout find the classes, or memorize them?
====================================================

A linear readout of a wide layer can fit almost any labels. Hewitt and Liang (2019) ask
for a control: the same readout, fitted to labels that were permuted among the training
examples. Its accuracy on these labels is what it can memorize; *selectivity* is the
accuracy on test data with the true labels, minus that.
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
    wide = nn.Sequential(nn.Linear(64, 512), nn.ReLU())
    narrow = nn.Sequential(nn.Linear(512, 16), nn.ReLU())
    return nn.Sequential(
        OrderedDict(wide=wide, narrow=narrow, output=nn.Linear(16, 10))
    )


def learn(model, data, epochs=20):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()


# %%
# A layer of 512 units and one of 16, three seeds of fine-tuning.

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
        readouts=probe.Measure(readouts=["linear"], controls=["labels"]),
        recipe=probe.Recipe(epochs=16, batch_size=32),
    )

# %%
# Accuracy and what the same readout memorizes, for the fine-tuned network, floor and
# ceiling.

table = result.to_pandas("controls").query("task_position.isna()")
fig, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
for ax, feature in zip(axes, ["wide", "narrow"], strict=True):
    rows = table.query(f"feature == {feature!r}").set_index("learner")
    rows = rows.loc[["untrained", "model", "offline"]]
    for shift, column in ((-0.2, "accuracy"), (0.2, "control")):
        at = [task_position + shift for task_position in range(3)]
        label = {"accuracy": "true labels, test data", "control": "permuted labels"}[
            column
        ]
        ax.bar(at, 100 * rows[column], 0.38, label=label)
    ax.axhline(10, color="black", ls=":", lw=0.8)
    ax.set(title=f"layer {feature!r}", ylim=(0, 105))
    ax.set_xticks(range(3), ["untrained", "fine-tuned", "offline"])
axes[0].set_ylabel("Accuracy (%); dotted: chance")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)

# %%
for row in table.itertuples():
    ends = f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"
    print(
        f"{row.feature:8}{row.learner:11}selectivity {100 * row.value:5.1f} points "
        f"{ends}"
    )

# %%
# The wide layer gives the better accuracy, but so does its untrained self: on 512
# numbers a readout fits most permuted labels, too, so a high accuracy is not due to the
# layer. On the narrow layer it fits hardly more than chance: what it finds there was in
# the layer. The accuracy of a readout is meaningless without its accuracy on noise.

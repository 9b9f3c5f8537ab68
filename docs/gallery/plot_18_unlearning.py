"""
Has the network really unlearned the classes?
=============================================

8 and 9 are unlearned in three ways. Here, *untrained* is a network that never saw them,
and *joint* is the original. A probe must find more than in the network that never saw
them.
"""

from collections import OrderedDict
from copy import deepcopy
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import probe

FORGET, KEEP = [8, 9], list(range(8))
images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float(), torch.tensor(labels)
train, test = probe.Examples(x[:1000], y[:1000]), probe.Examples(x[1000:], y[1000:])
kept, gone = train.of_classes(KEEP), train.of_classes(FORGET)


def build():
    layer1 = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    layer2 = nn.Sequential(nn.Linear(64, 16), nn.ReLU())
    return nn.Sequential(
        OrderedDict(layer1=layer1, layer2=layer2, output=nn.Linear(16, 10))
    )


def learn(model, data, epochs=20):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()
    return model


def silence(model):  # the outputs of the classes alone
    model.output.bias.data[FORGET] = -torch.inf
    return model


def relabel(model):  # training goes on, with random other labels for the classes
    wrong = torch.randint(len(KEEP), (len(gone),))
    x, y = torch.cat([kept.x, gone.x]), torch.cat([kept.y, wrong])
    return learn(model, probe.Examples(x, y))


def retrain(model):  # the control of the audit: another network that never saw them
    return learn(build(), kept)


# %%
# ``{task}`` is 0 for the network that never saw the classes, 2 for the audited one.

with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        without, original = learn(build(), kept), learn(build(), train)
        torch.save(original.state_dict(), f"{folder}/original-{seed}.pt")
        for unlearn in (silence, relabel, retrain):
            name = f"{folder}/{unlearn.__name__}-{seed}"
            torch.save(without.state_dict(), f"{name}-task0.pt")
            torch.save(unlearn(deepcopy(original)).state_dict(), f"{name}-task2.pt")
    result = probe.analyze(
        probe.Model(f"{folder}/{{learner}}-{{seed}}-task{{task}}.pt", fresh=build),
        train,
        test,
        [FORGET, KEEP],
        offline=f"{folder}/original-{{seed}}.pt",
        readouts=["linear"],
    )

# %%
# ``left`` is audited minus never seen, in points on 8 and 9.

layers = result.layers().query("task_position == 1")
rows = layers.query("quantity == 'above_floor'").set_index(["learner", "feature"])
left = rows[["value", "low", "high"]]
print((100 * left).round(1))
table = layers.pivot(index=["learner", "feature"], columns="quantity", values="value")
names = {"floor": "never seen", "accuracy": "audited", "ceiling": "original"}
fig, axes = plt.subplots(1, 3, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, name in zip(axes, ("silence", "relabel", "retrain"), strict=True):
    audited = 100 * table.loc[name][[*names]].rename(columns=names)
    audited.plot(ax=ax, style="o-", title=name, xlabel="", legend=name == "silence")
axes[0].set_ylabel("Accuracy on 8 and 9 (%)")

# %%
# Silencing removed nothing from the layers; retraining is not shown to leave
# anything. Probes find 8 and 9 even in layers that never saw them.

assert (
    left.loc[("silence", "layer2"), "low"] > 0 > left.loc[("retrain", "layer2"), "low"]
)
assert (table.loc["silence"]["missing"][["layer1", "layer2"]] == 0).all()
assert table.loc[("silence", "layer1"), "floor"] > 0.5

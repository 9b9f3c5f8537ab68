"""
The classes stay, the inputs drift. Which layer forgets?
========================================================

Every task has the same ten digits, turned by 0, 90, 180 or 270 degrees. Data are a list
with each task's examples.
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
images, y = torch.tensor(images / 16).float().view(-1, 8, 8), torch.tensor(labels)
turned = [torch.rot90(images, k, dims=(1, 2)).flatten(1) for k in range(4)]
train = [probe.Examples(x[:1400], y[:1400]) for x in turned]
test = [probe.Examples(x[1400:], y[1400:]) for x in turned]


def build():
    layer1 = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    layer2 = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    return nn.Sequential(
        OrderedDict(layer1=layer1, layer2=layer2, output=nn.Linear(64, 10))
    )


def learn(model, data, epochs=8):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()


# %%

with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = build()
        for k, task in enumerate(train, 1):
            learn(model, task)
            torch.save(model.state_dict(), f"{folder}/seed{seed}-task{k}.pt")
    result = probe.analyze(
        probe.Model(f"{folder}/seed{{seed}}-task{{task}}.pt", fresh=build),
        train,
        test,
        offline="train",
        readouts=["linear"],
        recipe=probe.Recipe(epochs=8, batch_size=32),
    )

# %%
# The figure shows points below joint by layer and angle.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
figures.layers(result, ax=ax)

# %%
print(result)

# %%
# The change of ``layer1`` accounts for most. Yet its readout still finds nearly all
# that the output lost.

costs = result.causes().query("quantity == 'attributed' and task_position.isna()")
costs = costs.query("scope == 'training' and score == 'accuracy'")
costs = costs.set_index("feature")
assert costs["value"].idxmax() == "layer1"
assert costs.loc["layer1", "verdict"] == "costs"

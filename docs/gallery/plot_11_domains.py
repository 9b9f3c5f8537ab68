"""
The classes stay, the inputs drift. Which layer forgets?
=========================================================

Domain-incremental learning: the same ten digits in every task, first upright, then
turned by 90, 180 and 270 degrees. The classes do not identify the task, so data are
given as a list with the examples of each task.
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
# Three seeds. There is no list of classes to give: ``tasks`` is left out.

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
# Points below the ceiling, by layer and by angle in the order of learning.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
figures.layers(result, ax=ax)

# %%
print(result)

# %%
# The output forgets much of the earlier angles. The hidden layers have room between
# floor and ceiling here, and neither is shown to forget: a readout of them finds what
# the output lost.
#
# The claim would be meaningless with ten outputs per angle: the copies of a class would
# compete, and the network would be asked for the angle, too. And where floor and
# ceiling meet, as in most other scripts of this gallery, "the layer still has it" says
# nothing.

"""
Is 80 % a good accuracy for a layer?
====================================

Freeze a network up to a layer, retrain everything downstream on all tasks, and test:
the partial retrain accuracy (PRA) of Murata et al. (2020). A number such as 80 % sounds
like a layer that kept most of what it had learned. It says nothing by itself. Two
controls give it meaning:

- the **floor**: the same measurement on the untrained network. Random features and a
  retrained output already separate most digits;
- the **ceiling**: the same measurement on a network trained on all tasks at once.
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
# Three seeds of fine-tuning, task after task. The untrained networks come from
# ``build``, and ``offline="train"`` trains the network of the ceiling with the recipe
# of the retraining.

recipe = probe.Recipe(epochs=40, batch_size=32, learning_rate=5e-3)
with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = build()
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
        readouts=["retrain"],
        recipe=recipe,
    )

# %%
# The shaded band is the room of each layer, from floor to ceiling.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
figures.depth(result, ax=ax)

# %%
# The same in numbers: accuracy, floor and ceiling, with 95 % intervals over the seeds.

table = result.to_pandas("layers").query("task_position.isna()")
for row in table[table.quantity.isin(["accuracy", "floor", "ceiling"])].itertuples():
    print(
        f"{row.feature:8}{row.quantity:10}{row.value:6.1%}  [{row.low:.1%}, "
        f"{row.high:.1%}]"
    )
print()
for note in result.notes:
    print("note:", note)

# %%
# By its PRA alone, the first layer looks as if it had kept nearly everything. Weights
# that were never trained do no worse. A PRA is meaningless without floor and ceiling,
# and where the two meet: a layer without room cannot show what it kept. And it holds
# for its epochs alone, as do floor and ceiling: a note names each training that has not
# converged.

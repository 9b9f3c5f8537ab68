"""
My network has a head for each task. How do I probe it?
=======================================================

A ``call`` with three arguments passes the task's number, also to readouts. ``linear``
is then fitted for each task.
"""

from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import figures
import probe

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float(), torch.tensor(labels)
train = probe.Examples(
    x[:1400], y[:1400] % 2, y[:1400] // 2
)  # task 0: digits 0, 1 as classes 0, 1
test = probe.Examples(x[1400:], y[1400:] % 2, y[1400:] // 2)


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()
        )
        self.heads = nn.ModuleList(nn.Linear(32, 2) for _ in range(5))

    def forward(self, x, task):  # (N,), the number of the task of each example
        hidden = self.body(x)
        each = torch.stack([head(hidden) for head in self.heads])
        return each[task, torch.arange(len(x))]


def call(model, x, task):
    return model(x, task)


def learn(model, number, epochs=20):
    data = train.of_task(number)
    optimizer = torch.optim.Adam(model.parameters())
    for rows in [
        rows for _ in range(epochs) for rows in torch.randperm(len(data)).split(32)
    ]:
        optimizer.zero_grad()
        logits = model(data.x[rows], torch.full((len(rows),), number))
        nn.functional.cross_entropy(logits, data.y[rows]).backward()
        optimizer.step()


# %%
# We train three seeds. Every head exists from the start.

recipe = probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3)
with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = MultiHead()
        for k in range(5):
            learn(model, k)
            torch.save(model.state_dict(), f"{folder}/seed{seed}-task{k + 1}.pt")
    networks = probe.Model(
        f"{folder}/seed{{seed}}-task{{task}}.pt", fresh=MultiHead, call=call
    )
    features = ["body.1", "body.3"]
    result = probe.analyze(
        networks,
        train,
        test,
        None,
        features,
        offline="train",
        readouts=["linear"],
        recipe=recipe,
    )

# %%

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
figures.layers(result, ax=ax)

# %%
print(result)

# %%
# As the task is given, chance is 50 %. A single head's numbers are not comparable
# with these.

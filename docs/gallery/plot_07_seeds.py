"""
How many seeds do I need?
=========================

One or two trainings show something about these networks, three or more about the way of
training. How far is the last hidden layer below joint?
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
# Train eight times, and analyze the first 1, 2, 3, 5 and 8.

recipe = probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3)
found = {}
with TemporaryDirectory() as folder:
    for seed in range(8):
        torch.manual_seed(seed)
        model, offline = build(), build()
        for classes in tasks:
            learn(model, train.of_classes(classes))
        learn(offline, train)
        torch.save(model.state_dict(), f"{folder}/seed{seed}-task5.pt")
        torch.save(offline.state_dict(), f"{folder}/offline-{seed}.pt")
        if (seeds := seed + 1) in (1, 2, 3, 5, 8):
            found[seeds] = probe.analyze(
                probe.Model(f"{folder}/seed{{seed}}-task{{task}}.pt", fresh=build),
                train,
                test,
                tasks,
                ["layer2"],
                offline=f"{folder}/offline-{{seed}}.pt",
                readouts=["linear"],
            )

# %%

answers = {}
for seeds, result in found.items():
    rows = result.statements().query(
        "feature == 'layer2' and statement == 'below_ceiling'"
    )
    [row] = rows.itertuples()
    answers[seeds] = row
    ends = f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"
    print(f"{row.scope:9} {seeds} {100 * row.value:5.1f} {ends:13} {row.verdict}")

fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for seeds, row in answers.items():
    ends = [[100 * (row.value - row.low)], [100 * (row.high - row.value)]]
    ax.errorbar(seeds, 100 * row.value, ends, fmt="o", color="C0", capsize=4)
seed_values = found[8].to_pandas("statement_seeds")
seed_values = seed_values.query(
    "feature == 'layer2' and statement == 'below_ceiling'"
).value
ax.plot(range(1, 9), 100 * seed_values, "x", color="gray", label="each seed by itself")
ax.axhline(0, color="black", lw=0.8)
ax.set(xlabel="Seeds", ylabel="Points missing in layer2, 95 % interval")
ax.legend()

# %%
# More trainings narrow the interval. An interval means nothing if you choose seeds by
# their results.

assert answers[8].high - answers[8].low < answers[3].high - answers[3].low

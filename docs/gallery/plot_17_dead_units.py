"""
Did the layer die?
==================

Units may stop responding, or respond differently. One network is trained with Adam's
usual rate, another with twenty times that rate.
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


def learn(model, data, rate, epochs=20):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()


# %%
# ``{learner}`` in the file names distinguishes the two networks.

rates = {"rate-0-001": 1e-3, "rate-0-02": 2e-2}
with TemporaryDirectory() as folder:
    for seed in range(3):
        for name, rate in rates.items():
            torch.manual_seed(seed)
            model = build()
            torch.save(model.state_dict(), f"{folder}/{name}-seed{seed}-task0.pt")
            for k, classes in enumerate(tasks, 1):
                learn(model, train.of_classes(classes), rate)
                torch.save(model.state_dict(), f"{folder}/{name}-seed{seed}-task{k}.pt")
    result = probe.analyze(
        probe.Model(f"{folder}/{{learner}}-seed{{seed}}-task{{task}}.pt", fresh=build),
        train,
        test,
        tasks,
        offline="train",
        readouts=["linear"],
        recipe=probe.Recipe(epochs=16, batch_size=32, learning_rate=5e-3),
    )

# %%
# Each point is a seed. CKA is debiased linear CKA.

table = result.to_pandas("diagnostics")
titles = {
    "dead": "Share of dead units",
    "cka.step-1": "CKA with itself after task 1",
    "cka.untrained": "CKA with its untrained self",
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, (metric, title) in zip(axes, titles.items(), strict=True):
    for shift, learner in zip((-0.15, 0, 0.15), [*rates, "untrained"], strict=True):
        rows = table.query(f"learner == {learner!r} and metric == {metric!r}")
        ax.plot(rows.depth + shift, rows.value, "o", alpha=0.7, label=learner)
    ax.set(title=title, xlim=(0.6, 2.4), ylim=(-0.05, 1.05))
    ax.set_xticks([1, 2], ["layer1", "layer2"])
axes[1].legend()

# %%
# Print points below joint.

for row in result.statements().itertuples():
    if row.statement == "below_ceiling":
        ends = f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"
        print(
            f"{row.learner:12}{row.feature:8}{100 * row.value:6.1f} {ends:15} "
            f"{row.verdict}"
        )

# %%
# At the high rate most units are dead, and no readout finds what they no longer
# encode. A layer can also change completely and lose nothing.

dead = table.query("metric == 'dead'").groupby("learner")["value"].mean()
assert dead["rate-0-02"] > 0.5 > dead["rate-0-001"]

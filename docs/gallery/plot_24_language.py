"""
How many nats does each block account for?
==========================================

A language model learns three texts. Rewinding needs only a score for each example:
minus the nats per letter.
"""

from copy import deepcopy

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.parametrize import register_parametrization

import probe

ALPHABET, LENGTH = " abcdefghijklmnop", 32


def text(seed, lines=400):
    """Return lines, (lines, LENGTH + 1), of 20 invented words of the text's own."""
    generator = torch.Generator().manual_seed(seed)
    lengths = [n % 4 + 3 for n in range(20)]
    words = [
        torch.randint(1, len(ALPHABET), (n,), generator=generator) for n in lengths
    ]
    words = [nn.functional.pad(word, (1, 0)) for word in words]  # a space before each
    rows = torch.randint(20, (lines, LENGTH), generator=generator)
    return torch.stack(
        [torch.cat([words[n] for n in row])[: LENGTH + 1] for row in rows]
    )


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.dense = nn.Sequential(
            nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width)
        )

    def forward(self, x):
        later, z = (
            torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1),
            self.norms[0](x),
        )
        x = x + self.attention(z, z, z, attn_mask=later, need_weights=False)[0]
        return x + self.dense(self.norms[1](x))


class LanguageModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embedding = nn.Embedding(len(ALPHABET), width)
        self.register_buffer("positions", torch.randn(LENGTH, width))
        self.block1, self.block2 = Block(width), Block(width)
        self.head = nn.Linear(width, len(ALPHABET))

    def forward(self, x):
        return self.head(self.block2(self.block1(self.embedding(x) + self.positions)))


def score(model, x, y):  # of each line, (N,)
    return -cross_entropy(model(x).transpose(1, 2), y, reduction="none").mean(1)


texts = [text(seed) for seed in range(3)]
for lines in texts:
    print("".join(ALPHABET[i] for i in lines[0]))

# %%
# From the second text on, all weights are trained, or a low-rank change (LoRA).


class LowRank(nn.Module):
    def __init__(self, weight, rank=4):
        super().__init__()
        self.down = nn.Parameter(torch.randn(rank, weight.shape[1]) / rank)
        self.up = nn.Parameter(torch.zeros(len(weight), rank))

    def forward(self, weight):
        return weight + self.up @ self.down


def add_lora(model):
    for parameter in model.parameters():
        parameter.requires_grad = False
    for module in list(model.modules()):
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.ndim == 2:
                register_parametrization(module, name, LowRank(weight))


def steps(model, lines, epochs=10):
    """Train a model on lines, and yield the number of each step."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, 4e-3)
    batches = [rows for _ in range(epochs) for rows in torch.randperm(300).split(25)]
    for step, rows in enumerate(batches, 1):
        optimizer.zero_grad()
        score(model, lines[rows, :-1], lines[rows, 1:]).mean().neg().backward()
        optimizer.step()
        yield step


def read(model, lines):
    for _ in steps(model, lines):
        pass


features, tables, last = ["embedding", "block1", "block2"], [], {}
test = [(lines[300:, :-1], lines[300:, 1:]) for lines in texts]
for seed in range(3):
    torch.manual_seed(seed)
    first_reader = LanguageModel()
    read(first_reader, texts[0])
    for trained in ("all weights", "LoRA"):
        model = deepcopy(first_reader)
        if trained == "LoRA":
            add_lora(model)
        models = {1: deepcopy(model)}
        last[seed, trained] = models
        for k in (2, 3):
            read(model, texts[k - 1])
            models[k] = deepcopy(model)
        table = probe.causes(models, test, score, features, long=True)
        tables.append(table.assign(trained=trained, seed=seed))

# %%
# Shares add up to the loss, in nats per letter of the first text.

first = pd.concat(tables).query("task_position == 1")
of_model = first.query("feature == ''")
print(of_model.pivot_table("value", ["trained", "quantity"], "seed").round(2))
by_block = first.pivot_table("value", ["trained", "quantity", "feature"], "seed")
print(by_block.drop("", level="feature").round(2).to_string())
fig, axes = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained", sharey=True)
for ax, trained in zip(axes, ("all weights", "LoRA"), strict=True):
    pieces = by_block.loc[trained, "attributed"].reindex([*features, "output"]).T
    pieces.plot.bar(stacked=True, rot=0, ax=ax, legend=False)
    ax.set(title=trained, xlabel="Seed", ylabel="Nats per letter of text 1")
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)

# %%
# LoRA loses less. Putting back one block returns less than half: blocks learned
# together.

lost = of_model.query("quantity == 'lost'").groupby("trained")["value"].mean()
assert lost["LoRA"] < lost["all weights"]

# %%
# How fast is text 1 relearned, if only one block is trained on it? Half of the loss must
# come back. The control has read texts 2 and 3, but never text 1.


@torch.no_grad()
def nats(model):
    return -score(model, *test[0]).mean().item()


def steps_until(model, block, target, most=240):
    """Return the steps after which a model with one trained block is at a loss, at most `most`."""
    model = deepcopy(model).requires_grad_(False)
    model.get_submodule(block).requires_grad_(True)
    for step in steps(model, texts[0], epochs=most // 12):
        if nats(model) <= target:
            return step
    return most


rows = []
for seed in range(3):
    models = last[seed, "all weights"]
    torch.manual_seed(seed)
    never = LanguageModel()
    read(never, texts[1])
    read(never, texts[2])
    half = (nats(models[1]) + nats(models[3])) / 2
    for block in (*features, "head"):
        for name, model in (("forgot it", models[3]), ("never read it", never)):
            torch.manual_seed(seed)
            row = {"seed": seed, "block": block, "network": name}
            rows.append(row | {"steps": steps_until(model, block, half)})
relearned = pd.DataFrame(rows).pivot_table("steps", ["block", "network"], "seed")
print(relearned.reindex((*features, "head"), level="block"))

# %%
# A block relearns text 1 in 8 or 9 steps. Without the control this would look like
# memory, but a network that never read it needs only 9 to 12.

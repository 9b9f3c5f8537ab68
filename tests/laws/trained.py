"""Networks that learn the digits two by two, and what rewinding says of two of them."""

import argparse
from collections import OrderedDict
from copy import deepcopy
from functools import cache, partial

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import avg_pool2d, cross_entropy

from probe.cut.cuts import cut_each
from probe.rewinding.blocks import Change, blocks_of
from probe.rewinding.correspondence import Comparison
from probe.rewinding.hybrids import Rewinding, rewind
from scenarios.networks import narrow

T = 5
RATE = 0.002
PIXELS, LABELS = load_digits(return_X_y=True)
X = torch.tensor(PIXELS / 16).float().reshape(-1, 1, 8, 8)
Y = torch.tensor(LABELS)
TRAIN = (X[:1400], Y[:1400])
LATER = (X[1400:], Y[1400:])


def of_classes(examples, classes):
    x, y = examples
    chosen = torch.isin(y, torch.tensor(list(classes)))
    return x[chosen], y[chosen]


TASKS = [range(2 * t, 2 * t + 2) for t in range(T)]


class Residual(nn.Module):
    """Two convolutions with batch norm, beside their input."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        )
        self.second = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        )

    def forward(self, x):
        return (x + self.second(self.first(x).relu())).relu()


class Patches(nn.Module):
    """Patches of 2 x 2 pixels, embedded, with their positions."""

    def __init__(self, width):
        super().__init__()
        self.project = nn.Conv2d(1, width, 2, stride=2)
        self.positions = nn.Parameter(0.1 * torch.randn(1, 16, width))

    def forward(self, x):
        return self.project(x).flatten(2).transpose(1, 2) + self.positions


class Head(nn.Module):
    """The scores of the mean token."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, 10)

    def forward(self, x):
        return self.linear(self.norm(x).mean(1))


class Gpt2(nn.Module):
    """GPT-2 of two blocks, which reads the digits as 16 grey values."""

    features = ("gpt.transformer.h.0", "gpt.transformer.h.1")

    def __init__(self):
        from transformers import GPT2Config, GPT2ForSequenceClassification

        super().__init__()
        sizes = GPT2Config(
            vocab_size=18,
            n_positions=16,
            n_embd=32,
            n_layer=2,
            n_head=4,
            num_labels=10,
            pad_token_id=17,
            bos_token_id=None,
            eos_token_id=None,
        )
        self.gpt = GPT2ForSequenceClassification(sizes)

    def forward(self, x):
        return self.gpt((16 * avg_pool2d(x, 2)).round().long().flatten(1)).logits


def chain(**layers):
    return nn.Sequential(OrderedDict(layers))


def mlp(*widths):
    sizes = (64, *widths)
    layers = {
        f"hidden{depth}": nn.Sequential(
            nn.Flatten(), nn.Linear(sizes[depth - 1], width), nn.ReLU()
        )
        for depth, width in enumerate(widths, 1)
    }
    return chain(**layers, output=nn.Linear(sizes[-1], 10))


def convolution(channels, width, stride=1):
    layer = nn.Conv2d(channels, width, 3, stride=stride, padding=1)
    return nn.Sequential(layer, nn.BatchNorm2d(width), nn.ReLU())


def cnn():
    return chain(
        conv1=convolution(1, 16),
        conv2=convolution(16, 24, stride=2),
        conv3=convolution(24, 32, stride=2),
        hidden=nn.Sequential(nn.Flatten(), nn.Linear(128, 32), nn.ReLU()),
        output=nn.Linear(32, 10),
    )


def residual():
    blocks = {f"block{depth}": Residual(16) for depth in (1, 2, 3)}
    output = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(256, 10))
    return chain(stem=convolution(1, 16), **blocks, output=output)


def vit():
    encoder = partial(
        nn.TransformerEncoderLayer,
        32,
        4,
        64,
        dropout=0,
        batch_first=True,
        norm_first=True,
    )
    blocks = {f"block{depth}": encoder() for depth in range(1, 5)}
    return chain(embedding=Patches(32), **blocks, output=Head(32))


ARCHITECTURES = {
    "mlp": partial(mlp, 64, 48, 32),
    "cnn": cnn,
    "residual": residual,
    "vit": vit,
}
OTHERS = {
    "README": partial(mlp, 128, 32),
    "demo": partial(narrow, (1, 8, 8), 10),
    "GPT-2": Gpt2,
}


def hidden(network):
    """Return the features of a network, by depth, without its output."""
    if isinstance(network, Gpt2):
        return network.features
    return [name for name, _ in network.named_children()][:-1]


def built(architecture, seed):
    torch.manual_seed(seed)
    return (ARCHITECTURES | OTHERS)[architecture]()


def learn(network, examples, epochs, layer=None):
    """Train a network in place by Adam, or only a layer of it; the rate falls to 0."""
    layer = layer or network
    optimizer = torch.optim.Adam(layer.parameters())
    network.eval()
    layer.train()
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = RATE * (1 - epoch / epochs)
        for batch in torch.randperm(len(examples[1])).split(64):
            optimizer.zero_grad()
            cross_entropy(network(examples[0][batch]), examples[1][batch]).backward()
            optimizer.step()
    return network.eval()


@cache
def trained(architecture, seed, cumulative=True):
    """Return the networks after each task; cumulative: trained on all classes so far each time."""
    network = built(architecture, seed)
    networks = {}
    for t in range(1, T + 1):
        classes = range(2 * t) if cumulative else TASKS[t - 1]
        learn(network, of_classes(TRAIN, classes), epochs=15)
        networks[t] = deepcopy(network)
    return networks


def compared(earlier, last, examples):
    """Return the correctness on each example of every hybrid, and the comparison of the units."""
    x, y = examples
    cuts = cut_each(last, hidden(last), x[:8])
    facts = {cut.facts.name: cut.facts for cut in cuts.each}
    blocks = blocks_of(last, facts.values(), "output")
    change = Change(earlier=earlier, last=last, blocks=blocks)

    @torch.no_grad()
    def run(network):
        return network(x)

    def score(everywhere):
        return run(last).argmax(1).eq(y).double().numpy()

    comparison = Comparison(
        change=change,
        facts=facts,
        run=run,
    )
    scores = rewind(change, score)
    return Rewinding(scores=scores, of_task=np.full(len(y), True)), comparison


def options(description):
    """Return what was typed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", help="a CSV file")
    return parser.parse_args()

"""Faults planted in one layer of a network that forgets next to nothing: is that layer
charged?

    python -m tests.laws.planted --seeds 3 --out planted.csv    # eight minutes on one
    core

Each network is compared with the one before the last task.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import product

import pandas as pd
import torch
from torch import nn
from torch.nn.utils import parametrize

import probe
from probe.tables.schemas import CAUSE_VERDICTS
from tests.laws.trained import (
    ARCHITECTURES,
    LATER,
    TASKS,
    TRAIN,
    T,
    X,
    hidden,
    learn,
    of_classes,
    options,
    trained,
)

LEAST = 0.05  # of accuracy, which a fault must cost
OLD = of_classes(LATER, range(8))
NEW = of_classes(LATER, TASKS[-1])


def weights(layer):
    return (p.data for p in layer.parameters() if p.dim() > 1)


def flip_signs(network, layer, strength):
    for weight in weights(layer):
        weight.neg_()


def swap_channels(network, layer, strength):
    """Reverse the order of a layer's channels, which its consumer does not know."""
    for tensor in layer.state_dict().values():
        if tensor.dim():
            tensor.copy_(tensor.flip(0))


def prune(network, layer, strength):
    for weight in weights(layer):
        weight *= weight.abs() > weight.abs().quantile(strength)


def quantise(network, layer, strength):
    """Round weights to 2 strength + 1 values."""
    for weight in weights(layer):
        step = weight.abs().max() / strength
        weight.copy_((weight / step).round() * step)


def other_statistics(network, layer, strength):
    """Take batch norm's statistics from inverted pictures, brighter by a factor."""
    norms = [module for module in layer.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    with torch.no_grad():
        network(strength * (1 - X))
    for norm in norms:
        norm.momentum = 0.1
        norm.eval()


def train_wrongly(network, layer, strength):
    """Train the layer for some epochs on the labels of other classes."""
    learn(network, (TRAIN[0], (TRAIN[1] + 1) % 10), int(strength), layer)


def reset(network, layer, strength):
    for module in layer.modules():
        for method in ("reset_parameters", "_reset_parameters"):
            getattr(module, method, lambda: None)()


class LowRank(nn.Module):
    """A change of a weight of rank 2, as LoRA trains it."""

    def __init__(self, weight):
        super().__init__()
        self.down = nn.Parameter(torch.randn(2, weight.shape[1]))
        self.up = nn.Parameter(torch.zeros(len(weight), 2))

    def forward(self, weight):
        return weight + self.up @ self.down


def merge_again(network, layer, strength):
    """Train LoRA in a layer on the last task, and add its change several times."""
    update = LowRank(layer.linear1.weight)
    parametrize.register_parametrization(layer.linear1, "weight", update)
    learn(network, of_classes(TRAIN, TASKS[-1]), 5, update)
    parametrize.remove_parametrizations(
        layer.linear1, "weight", leave_parametrized=False
    )
    with torch.no_grad():
        layer.linear1.weight += strength * update.up @ update.down


@dataclass(frozen=True)
class Fault:
    """A fault, and how strong it is: the first strength that costs enough counts."""

    plant: Callable[[nn.Module, nn.Module, float], object]
    strengths: tuple[float, ...] = (1,)
    kind: type[nn.Module] = nn.Module
    """Layers with such a module in them can have it."""

    def layers(self, network):
        names = []
        for name, layer in network.named_children():
            if any(isinstance(module, self.kind) for module in layer.modules()):
                names.append(name)
        return names


FAULTS = {
    "signs flipped": Fault(flip_signs),
    "channels swapped": Fault(swap_channels),
    "pruned": Fault(prune, (0.9, 0.97, 0.99)),
    "quantised": Fault(quantise, (3, 1)),
    "trained on wrong labels": Fault(train_wrongly, (1, 5, 25)),
    "fresh weights": Fault(reset),
    "other statistics": Fault(other_statistics, (1, 3), nn.BatchNorm2d),
    "LoRA merged again": Fault(merge_again, (2, 4, 16), nn.TransformerEncoderLayer),
}


def accuracy(network):
    with torch.no_grad():
        return float(network(OLD[0]).argmax(1).eq(OLD[1]).float().mean())


def planted_in(networks, fault, first):
    """Return a layer, and the last network with a fault in it; None if no layer can have it.

    first: the number of the layer to begin with; those that lose too little are passed
        over.
    """
    layers = fault.layers(networks[T])
    for k, strength in product(range(len(layers)), fault.strengths):
        name = layers[(first + k) % len(layers)]
        network = deepcopy(networks[T])
        torch.manual_seed(T)
        fault.plant(network, network.get_submodule(name), strength)
        if accuracy(network) < accuracy(networks[T]) - LEAST:
            return name, network
    return None


def cases(architecture, seed):
    """Yield what is said of a training as it is, then of each fault, in another layer each time."""
    networks = trained(architecture, seed)
    faulty = {"": ("", networks[T])}
    for k, (kind, fault) in enumerate(FAULTS.items()):
        planted = planted_in(networks, fault, k + seed)
        if planted:
            faulty[kind] = planted
    for kind, (name, network) in faulty.items():
        pair = {1: networks[T - 1], 2: network}
        table = probe.causes(pair, [OLD, NEW], features=hidden(network))
        by_layer = table.set_index("feature")
        innocent = by_layer.verdict.drop(name, errors="ignore")
        line = {
            "architecture": architecture,
            "fault": kind,
            "planted": name,
            "lost": table.attrs["lost"][0],
            "withheld": len(table.attrs["withheld"]),
            "share": by_layer.share.get(name),
            "verdict": by_layer.verdict.get(name),
            "is_first": by_layer.share.idxmax() == name,
        }
        yield line | {word: int(innocent.eq(word).sum()) for word in CAUSE_VERDICTS}


def main():
    arguments = options(__doc__)
    lines = []
    for architecture, seed in product(ARCHITECTURES, range(arguments.seeds)):
        lines += cases(architecture, seed)
    table = pd.DataFrame(lines)
    table.to_csv(arguments.out, index=False)
    counted = table.assign(is_fault=table.fault != "").drop(
        columns=["fault", "planted", "verdict"]
    )
    print(counted.groupby(["is_fault", "architecture"]).sum().to_string())


if __name__ == "__main__":
    main()

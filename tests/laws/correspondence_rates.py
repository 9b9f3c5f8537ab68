"""Pairs of networks whose units correspond, and pairs whose units do not: which are
withheld?

    python -m tests.laws.correspondence_rates --seeds 3 --out rates.csv    # ten minutes
    on one core

The file has the signs of every pair.
"""

from copy import deepcopy
from fnmatch import fnmatch
from itertools import pairwise, product

import pandas as pd
import torch

from probe.rewinding.correspondence import correspondence_doubt
from probe.rewinding.pairs import deficit_doubt
from tests.laws.planted import FAULTS, merge_again, planted_in
from tests.laws.trained import (
    ARCHITECTURES,
    LATER,
    OTHERS,
    TASKS,
    T,
    compared,
    of_classes,
    options,
    trained,
)

SHIFT = 3  # numbers by which the channels of a renumbered layer move
# The tensors of a residual stream, and their dimension of channels.
STREAMS = {
    "residual": {
        "stem.*": 0,
        "block?.first.0.weight": 1,
        "block?.second.*": 0,
        "output.2.weight": 1,
    },
    "vit": {
        "embedding.project.*": 0,
        "embedding.positions": 2,
        "*.norm?.*": 0,
        "*.in_proj_weight": 1,
        "*.out_proj.*": 0,
        "*.linear1.weight": 1,
        "*.linear2.*": 0,
        "output.norm.*": 0,
        "output.linear.weight": 1,
    },
    "GPT-2": {
        "*.w?e.weight": 1,
        "*.ln_*": 0,
        "*.c_attn.weight": 0,
        "*.c_fc.weight": 0,
        "*.c_proj.weight": 1,
        "*.c_proj.bias": 0,
        "gpt.score.weight": 1,
    },
}


def renumbered(network, dimensions):
    """Return the same function with its channels in another order."""
    result = deepcopy(network)
    channels = 0
    for name, tensor in result.state_dict().items():
        for pattern, dimension in dimensions.items():
            if fnmatch(name, pattern) and tensor.dim() > dimension:
                size = tensor.shape[dimension]
                channels = channels or size
                # A channel is several columns of a linear layer behind pictures.
                tensor.copy_(tensor.roll(SHIFT * size // channels, dimension))
    x = LATER[0][:32]
    assert torch.allclose(result(x), network(x), atol=1e-4)
    return result


def orders(architecture, network):
    """Return the tensors with the channels of each layer, or of the stream of all."""
    if architecture in STREAMS:
        return [STREAMS[architecture]]
    layers = [name for name, _ in network.named_children()]
    return [{f"{name}.*": 0, f"{after}.*weight": 1} for name, after in pairwise(layers)]


def averaged(one, other):
    result = deepcopy(one)
    states = zip(result.state_dict().values(), other.state_dict().values(), strict=True)
    for tensor, second in states:
        tensor.copy_((tensor + second) / 2)
    return result


def with_lora(network):
    result = deepcopy(network)
    for layer in FAULTS["LoRA merged again"].layers(result):
        merge_again(result, result.get_submodule(layer), 1)
    return result


def pairs(architecture, seed):
    """Yield pairs with their kinds: an earlier network, the last one, and examples."""
    for cumulative in (False, True):
        networks = trained(architecture, seed, cumulative)
        others = trained(architecture, seed + 1, cumulative)
        last = networks[T]
        for j in range(1, T):
            test = of_classes(LATER, range(2 * j) if cumulative else TASKS[j - 1])
            yield "continued" if cumulative else "fine-tuned", networks[j], last, test
            yield "from scratch", networks[j], others[T], test
        before = networks[T - 1]
        yield "averaged", before, averaged(last, others[T]), test
        for dimensions in orders(architecture, last):
            yield "renumbered", before, renumbered(last, dimensions), test
    if architecture == "vit":
        yield "LoRA", before, with_lora(before), test
    if architecture in ARCHITECTURES:
        for k, (kind, fault) in enumerate(FAULTS.items()):
            if planted := planted_in(networks, fault, k + seed):
                yield kind, before, planted[1], test


def signs(earlier, last, examples):
    """Return the signs of correspondence, and whether causes are withheld."""
    result, comparison = compared(earlier, last, examples)
    relations = comparison.relations()
    names = [name for name in comparison.facts if name in comparison.changed]
    reason = correspondence_doubt(relations, names) or deficit_doubt(result, chance=0.1)
    return {
        "deficit": result.deficit,
        "worse_end": result.worse_end,
        "itself_of_best": " ".join(
            f"{r.itself:.2f}/{r.best:.2f}" for r in relations.values()
        ),
        "renumbered": sum(relation.renumbered for relation in relations.values()),
        "withheld": int(reason != ""),
    }


def main():
    arguments = options(__doc__)
    lines = []
    seeds = range(arguments.seeds)
    for architecture, seed in product(ARCHITECTURES | OTHERS, seeds):
        for kind, *pair in pairs(architecture, seed):
            names = {"architecture": architecture, "kind": kind}
            lines.append(names | signs(*pair))
    table = pd.DataFrame(lines)
    table.to_csv(arguments.out, index=False)
    print(
        table.pivot_table(
            "withheld",
            "kind",
            "architecture",
            ["sum", "count"],
        ).to_string()
    )


if __name__ == "__main__":
    main()

"""Parts of a network: its blocks by suggested features, by features, or by names of tensors."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import cached_property

from torch import nn

from probe.batch import Value
from probe.cut.candidates import suggestions
from probe.cut.cuts import find_each
from probe.cut.interface import Cut, CutFacts
from probe.cut.model_call import ModelCall
from probe.cut.resuming import Starts
from probe.errors import InputError
from probe.immutable import immutable
from probe.modules import state_groups
from probe.rewinding.blocks import UNREAD, Blocks, blocks_of

OUTPUT = "output"
"""The block of all that no feature depends on."""

REST = "rest"
"""The block of all that no pattern matches."""

Patterns = Mapping[str, str | Sequence[str]]
"""Names of tensors, with wildcards such as `*`, by the name of their block."""

_LAYER = re.compile(r"_l(\d+)(_reverse)?$")  # of torch's recurrent modules


@immutable
class Parts:
    """The blocks of a network.

    Attributes:
        blocks: The tensors of each block.
        facts: The facts on the cut at each hidden feature, by depth; of patterns there
            are none.
        by_feature: The blocks of the features, where recurrent modules are not parted.
        cuts: The cuts at the features, by depth.
    """

    blocks: Blocks
    facts: Mapping[str, CutFacts] = field(default_factory=dict)
    by_feature: Blocks = field(default_factory=dict)
    cuts: Sequence[Cut] = ()

    @cached_property
    def starts(self) -> Starts | None:
        """The values at which passes may start, None where that saves no time."""
        return Starts.worthwhile(self.cuts)

    @classmethod
    def of(
        cls,
        network: nn.Module,
        x: Value,
        call: ModelCall,
        choice: Sequence[str] | Patterns | None = None,
    ) -> "Parts":
        """Part a network.

        Args:
            network: The network.
            x: A few examples.
            call: The call that gives the logits.
            choice: Features; patterns of names of parameters and buffers; None =
                suggested features, and recurrent modules by layer.

        Raises:
            InputError: There is no such feature, or a pattern matches no tensor.
        """
        if isinstance(choice, Mapping):
            return cls(blocks=matched_blocks(network, choice))
        features = list(choice or ())
        if choice is None:
            suggested = suggestions(network, x, call)
            features = [name for name, downstream in suggested.items() if downstream]
        cuts: Sequence[Cut] = []
        # A single layer has no hidden feature.
        if choice is not None or features:
            cuts = find_each(network, features, x, call, "tail")
        by_depth = sorted(cuts, key=lambda cut: cut.facts.position)
        facts = {cut.facts.name: cut.facts for cut in by_depth}
        output = "logits" if OUTPUT in facts else OUTPUT
        blocks = blocks_of(network, facts.values(), output)
        parts = cls(blocks=blocks, facts=facts, by_feature=blocks, cuts=by_depth)
        if choice is not None:
            return parts
        return replace(parts, blocks=_recurrent_layers(network, blocks))


def matched_blocks(network: nn.Module, patterns: Patterns) -> Blocks:
    """Part a network by names of its tensors; a tensor belongs to the first pattern that matches.

    Tensors that no pattern matches are the block `REST`; counters of batches are in none.

    >>> net = nn.LSTM(2, 3, num_layers=2)
    >>> {name: len(names) for name, names in matched_blocks(net, {"1": "*_l0"}).items()}
    {'1': 4, 'rest': 4}

    Args:
        network: The network.
        patterns: The patterns by block.

    Raises:
        InputError: The patterns of a block match only tensors of blocks before it, or
            none; or a block has the name of the tensors that no pattern matches.
    """
    remaining = [
        aliases for aliases in state_groups(network) if not aliases[0].endswith(UNREAD)
    ]
    blocks: Blocks = {}
    for block, choice in patterns.items():
        globs = [choice] if isinstance(choice, str) else list(choice)
        names = [aliases[0] for aliases in remaining if _matches(aliases, globs)]
        if not names:
            tensors = ", ".join(aliases[0] for aliases in remaining[:4])
            raise InputError(
                f"{globs} of block {block!r} matches no tensor: names are like "
                f"{tensors}"
            )
        blocks[block] = tuple(names)
        remaining = [aliases for aliases in remaining if aliases[0] not in names]
    rest = tuple(aliases[0] for aliases in remaining)
    if rest:
        if REST in blocks:
            raise InputError(
                f"the block {REST!r} is of the tensors that no pattern matches: choose "
                f"another name for {patterns[REST]}"
            )
        blocks[REST] = rest
    return blocks


def _matches(names: Sequence[str], globs: Sequence[str]) -> bool:
    """Return whether a name of a tensor matches a pattern."""
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def _recurrent_layers(network: nn.Module, blocks: Blocks) -> Blocks:
    """Return blocks in which each layer of a recurrent module is a block."""
    layer_of: dict[str, str] = {}
    for path, module in network.named_modules():
        if isinstance(module, nn.RNNBase) and module.num_layers > 1:
            for name, _ in module.named_parameters(prefix=path):
                if layer := _LAYER.search(name):
                    layer_of[name] = f"{path or 'rnn'} layer {int(layer[1]) + 1}"
    by_layer: Blocks = {}
    for block, names in blocks.items():
        for name in names:
            part = layer_of.get(name, block)
            by_layer[part] = (*by_layer.get(part, ()), name)
    return by_layer

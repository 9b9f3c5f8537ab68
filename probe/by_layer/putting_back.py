"""Measurements of a network with blocks of an earlier one put back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from torch import nn

from probe.batch import varied
from probe.by_layer.measurement import Key, Measured, Measurement
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.pass_context import PassContext
from probe.by_layer.reading_out import read_out
from probe.by_layer.schedule import HybridPass, ReadingPass
from probe.cut.interface import CutFacts
from probe.modules import mode, unwrapped
from probe.rewinding.blocks import (
    Blocks,
    Changed,
    Earlier,
    blocks_of,
    changed_blocks,
    rewound,
)
from probe.rewinding.hybrid_features import HybridFeatures
from probe.rewinding.hybrids import Names
from probe.rewinding.parts import matched_blocks
from probe.rewinding.sharing import SharedPasses
from probe.stored_names import PutBack
from probe.training.memory_format import some

_COMPARED = 256  # examples on which the units of two networks are compared


def put_back_blocks(
    context: PassContext, network: TrainedNetwork, work: HybridPass
) -> Measured:
    """Yield measurements of a network with blocks of an earlier one put back.

    Args:
        context: The job, its data and its settings.
        network: The network.
        work: The pass.
    """
    model = unwrapped(network.model)
    before = unwrapped(context.networks.peer_network(work.since))
    features = context.features
    facts: dict[str, CutFacts] = {}
    if len(features) > 1:
        cuts = context.shared_cuts(network.model).facts
        facts = {cut.name: cut for cut in sorted(cuts, key=lambda cut: cut.position)}
    blocks = blocks_of(model, facts.values(), features[-1])
    for key in work.sets:
        yield key, _put_back_sets(context, network, before, blocks, facts, work.since)
    earlier = Earlier.of(before, model)
    changed = changed_blocks(blocks, earlier, model)
    for reading in work.readings:
        # By depth: a pass starts where an earlier one has been.
        keys = sorted(reading.readouts, key=lambda key: features.index(key.feature))
        put_back = {
            key.feature: _blocks_to_put_back(key, changed, blocks, features)
            for key in keys
        }
        measured = _read_together(context, network, earlier, changed, put_back, reading)
        if measured is None:
            for key in keys:
                contents = [changed[name] for name in put_back[key.feature]]
                alone = replace(reading, readouts=(key,))
                with rewound(model, contents, earlier):
                    cuts_of_hybrid = context.cuts(network.model, {key.feature})
                    yield from list(read_out(context, cuts_of_hybrid, alone))
        else:
            yield from measured


def _read_together(
    context: PassContext,
    network: TrainedNetwork,
    earlier: Earlier,
    changed: Mapping[str, Changed],
    put_back: Mapping[str, Names],
    reading: ReadingPass,
) -> list[tuple[Key, Measurement]] | None:
    """Read features of hybrids by passes that share work; return None if they cannot.

    Args:
        context: The job, its data and its settings.
        network: The network.
        earlier: The earlier network.
        changed: The blocks that have changed.
        put_back: The blocks to put back for each feature, by depth.
        reading: The readouts.
    """
    starts = context.starts(network.model)
    if starts is None:
        return None
    shared = SharedPasses(
        model=unwrapped(network.model),
        before=earlier,
        changed=changed,
        starts=starts,
        run=network.logits,
    )
    cuts = context.shared_cuts(network.model)
    features = HybridFeatures(shared=shared, cuts=cuts, put_back=put_back)
    with mode(network.model, training=False):
        return shared.run_test(
            lambda: list(read_out(context, features, reading)),
            [some(task.test) for task in context.scenario.tasks],
        )


def _put_back_sets(
    context: PassContext,
    network: TrainedNetwork,
    before: nn.Module,
    blocks: Blocks,
    facts: Mapping[str, CutFacts],
    since: int,
) -> Measurement:
    """Test a network with sets of blocks of an earlier one put back."""
    if context.plan.blocks:
        blocks = matched_blocks(unwrapped(network.model), context.plan.blocks)
        facts = {}
    examples = varied(context.scenario.tasks[since - 1].test.x, _COMPARED)
    return network.test_hybrids(
        before,
        blocks,
        facts,
        partial(context.networks.call, x=examples),
        since,
        context.plan.hybrids,
        context.job.seed,
        context.starts(network.model) if facts else None,
    )


def _blocks_to_put_back(
    key: Key, changed: Mapping[str, Changed], blocks: Blocks, features: Sequence[str]
) -> Names:
    """Return the blocks to put back for a readout: that of its feature, or those upstream."""
    if key.readout.put_back == PutBack.BLOCK:
        return (key.feature,) if key.feature in changed else ()
    upstream = features[: features.index(key.feature)]
    # Attributes that belong to no block act from the input on.
    return tuple(name for name in changed if name in upstream or name not in blocks)

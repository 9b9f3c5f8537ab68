"""Measurements of a network with blocks of an earlier one put back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from torch import nn

from probe.batch import varied
from probe.by_layer.measurement import Key, Measured, Measurement
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.pass_context import PassContext
from probe.by_layer.reading_out import fit, read_out
from probe.by_layer.schedule import HybridPass, ReadingPass
from probe.cut.interface import CutFacts
from probe.immutable import immutable
from probe.modules import mode, unwrapped
from probe.readouts.matrix import Matrices
from probe.rewinding.blocks import (
    Blocks,
    Changed,
    Earlier,
    blocks_of,
    changed_blocks,
    rewound,
)
from probe.rewinding.hybrid_features import Hybrid, HybridFeatures
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
        put_back = {
            key: _blocks_to_put_back(key, changed, blocks, features)
            for key in reading.readouts
        }
        hybrids = _Hybrids(
            network=network, before=earlier, changed=changed, put_back=put_back
        )
        matrices = _shared_matrices(context, hybrids, reading)
        if matrices is None:
            yield from _read_one_by_one(context, hybrids, reading)
            continue
        test, train = matrices
        for key in put_back:
            name = str(key)
            if test[name][0].isfinite().all():
                yield key, fit(context, key, train[name], test[name])
            else:
                yield key, context.measurement({})


@immutable(eq=False)
class _Hybrids:
    """A network with sets of its blocks put back, each for a readout.

    Attributes:
        network: The network.
        before: The earlier network.
        changed: The blocks that have changed.
        put_back: The blocks to put back, by key of the readout.
    """

    network: TrainedNetwork
    before: Earlier
    changed: Mapping[str, Changed]
    put_back: Mapping[Key, Names]


def _shared_matrices(
    context: PassContext, hybrids: _Hybrids, reading: ReadingPass
) -> tuple[Matrices, Matrices] | None:
    """Return the hybrids' matrices of the test and training data, by key as text.

    None = their passes cannot be shared, or a feature cannot be read.
    """
    model = hybrids.network.model
    starts = context.starts(model)
    cut_of = {cut.facts.name: cut for cut in context.shared_cuts(model).each}
    readable = all(cut_of[key.feature].facts.value for key in hybrids.put_back)
    if starts is None or not readable:
        return None
    shared = SharedPasses(
        model=unwrapped(model),
        before=hybrids.before,
        changed=hybrids.changed,
        starts=starts,
        run=hybrids.network.logits,
    )
    features = HybridFeatures(
        shared=shared,
        hybrids={
            str(key): Hybrid(blocks=names, cut=cut_of[key.feature])
            for key, names in hybrids.put_back.items()
        },
    )
    scenario = context.scenario

    def matrices() -> tuple[Matrices, Matrices]:
        test = context.matrices(features, scenario.test.x, reading.pooling)
        inputs = scenario.merged.train.x
        return test, context.matrices(features, inputs, reading.pooling)

    with mode(model, training=False):
        return shared.run_test(matrices, [some(task.test) for task in scenario.tasks])


def _read_one_by_one(
    context: PassContext, hybrids: _Hybrids, reading: ReadingPass
) -> Measured:
    """Yield readouts of hybrids, each by passes of its own."""
    model = hybrids.network.model
    for key, names in hybrids.put_back.items():
        contents = [hybrids.changed[name] for name in names]
        with rewound(unwrapped(model), contents, hybrids.before):
            cuts = context.cuts(model, {key.feature})
            measured = list(read_out(context, cuts, replace(reading, readouts=(key,))))
        yield from measured


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

"""The passes of the engine: a network and its cuts in, predictions out.

`run_pass` carries out a pass of `probe.by_layer.schedule`. All networks share the cuts
of the first. All features of a network share one pass over the data for readouts,
diagnostics and similarity, and one for the values that tails are retrained on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from probe.analysis.units import Activity
from probe.batch import varied
from probe.by_layer.diagnosing import diagnose, keep_to_compare
from probe.by_layer.jobs import permutes_labels
from probe.by_layer.measurement import HALF, Key, Measurement
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.pass_context import PassContext
from probe.by_layer.schedule import (
    HybridPass,
    LayerPass,
    OutputPass,
    Pass,
    ReadingPass,
)
from probe.cut.cuts import Cuts
from probe.cut.interface import CutFacts
from probe.model import Model
from probe.modules import copied, unwrapped
from probe.notes import of_predictions
from probe.readouts.matrix import Matrices
from probe.readouts.readout import Readout, read_each
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from probe.rewinding.blocks import (
    Blocks,
    Changed,
    Earlier,
    blocks_of,
    changed_blocks,
    rewound,
)
from probe.rewinding.parts import matched_blocks
from probe.seeding import permutation, stream
from probe.stored_names import PutBack
from probe.tasks import Task
from probe.training.batch_norm import reestimate
from probe.training.evaluation import check_independence

Measured = Iterator[tuple[Key, Measurement]]
"""Measurements as they are made, each with its key."""

_COMPARED = 256  # examples on which the units of two networks are compared


def run_pass(context: PassContext, network: TrainedNetwork, work: Pass) -> Measured:
    """Carry out a pass on a network, which is not changed.

    Args:
        context: The job, its data and its settings.
        network: The network to measure.
        work: The pass.

    Yields:
        Each key of the pass with its measurement.
    """
    match work:
        case OutputPass():
            yield work.key, network.evaluate(work.head, work.checks)
        case HybridPass():
            yield from _put_back_blocks(context, network, work)
        case LayerPass():
            yield from _measure_layers(context, network.model, work)


def _put_back_blocks(
    context: PassContext, network: TrainedNetwork, work: HybridPass
) -> Measured:
    """Yield measurements of a network with blocks of an earlier one put back."""
    model = unwrapped(network.model)
    before = unwrapped(context.networks.peer_network(work.since))
    features = context.features
    facts: dict[str, CutFacts] = {}
    if len(features) > 1:
        cuts = [cut.facts for cut in context.shared_cuts(network.model).each]
        facts = {cut.name: cut for cut in sorted(cuts, key=lambda cut: cut.position)}
    blocks = blocks_of(model, facts.values(), features[-1])
    for key in work.sets:
        yield key, _put_back_sets(context, network, before, blocks, facts, work.since)
    earlier = Earlier.of(before, model)
    changed = changed_blocks(blocks, earlier, model)
    for reading in work.readings:
        [key] = reading.readouts
        contents = _blocks_to_put_back(key, changed, blocks, features)
        with rewound(model, contents, earlier):
            cuts_of_hybrid = context.cuts(network.model, {key.feature})
            measured = list(_read_out(context, cuts_of_hybrid, reading))
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
) -> list[Changed]:
    """Return the blocks to put back for a readout: that of its feature, or those upstream."""
    if key.readout.put_back == PutBack.BLOCK:
        return [changed[key.feature]] if key.feature in changed else []
    upstream = features[: features.index(key.feature)]
    # Attributes that belong to no block act from the input on.
    return [
        content
        for name, content in changed.items()
        if name in upstream or name not in blocks
    ]


def _measure_layers(
    context: PassContext, model: nn.Module, work: LayerPass
) -> Measured:
    """Yield what is measured downstream of a network's features."""
    if work.reestimates:
        model = copied(model)
        reestimate(model, context.scenario.merged.train.x, context.networks.call)
    cuts = context.cuts(model, work.features, tails=bool(work.retrainings))
    if work.retrainings:
        yield from _retrain(context, model, cuts, work.retrainings)
    for reading in work.readings:
        yield from _read_out(context, cuts, reading)


def _retrain(
    context: PassContext, model: nn.Module, cuts: Cuts, keys: Sequence[Key]
) -> Measured:
    """Yield partial retrainings: all features share one pass, all budgets one training."""
    scenario = context.scenario
    data = scenario.merged
    key_of_tail = {(key.feature, key.readout.budget): key for key in keys}
    settings = RetrainSettings(
        recipe=context.plan.retraining,
        seed=context.job.seed,
        cache=context.cache,
        multiples=tuple(sorted({key.readout.budget for key in keys})),
    )
    for tail in retrain_each(
        Model(model, fresh=context.networks.fresh),
        cuts.at({key.feature for key in keys}),
        data.train,
        data.test,
        scenario.classes,
        settings,
    ):
        # Only some budgets may be missing of a feature.
        if key := key_of_tail.get((tail.feature, tail.multiple)):
            predicted = {"single": tail.predicted}
            if tail.at_half is not None:
                predicted[HALF] = tail.at_half
            notes = [*context.class_notes, *tail.notes]
            yield key, context.measurement(predicted, notes, tail.history)


def _read_out(context: PassContext, cuts: Cuts, work: ReadingPass) -> Measured:
    """Yield readouts and diagnostics; of a feature that cannot be read they are empty."""
    keys = [*work.readouts, *work.diagnostics]
    features = {key.feature for key in keys}
    # A feature without a tensor has no matrix: there is nothing to read.
    readable = {cut.facts.name for cut in cuts.each if cut.facts.value}
    cuts = cuts.at(readable & features)
    activities: dict[str, Activity] = {}
    matrices: Matrices = {}
    if cuts.each:
        matrices = _test_matrices(context, cuts, work, activities)
        if work.is_compared:
            keep_to_compare(context, keys[0].tasks_seen, matrices)
    finite = {feature for feature, (x, _) in matrices.items() if x.isfinite().all()}
    for key in keys:
        if key.feature not in finite:
            yield key, context.measurement({})
    readouts = [key for key in work.readouts if key.feature in finite]
    if readouts:
        inputs = context.scenario.merged.train.x
        train = context.matrices(cuts, inputs, work.pooling)
        for key in readouts:
            yield key, _fit(context, key, train, matrices)
    diagnostics = [key for key in work.diagnostics if key.feature in finite]
    if diagnostics:
        yield from diagnose(context, diagnostics, activities, matrices)


def _test_matrices(
    context: PassContext,
    cuts: Cuts,
    work: ReadingPass,
    activities: dict[str, Activity],
) -> Matrices:
    """Return the matrices of the test data; fill `activities` if the pass has diagnostics."""
    test = context.scenario.test
    filled = activities if work.diagnostics else None
    matrices = context.matrices(cuts, test.x, work.pooling, filled)
    if work.checks:
        check_independence(cuts.named_values, test.x, test.y)
    return matrices


def _fit(
    context: PassContext, key: Key, train: Matrices, test: Matrices
) -> Measurement:
    """Fit a readout to the matrix of a feature, and predict."""
    scenario = context.scenario
    name = key.readout.planned
    readout = context.readouts[name]
    features, layout = train[key.feature]
    task_aware = context.plan.readouts[name].task_aware
    tasks = scenario.tasks if task_aware else [scenario.merged]
    seed = context.job.seed
    result = read_each(readout, features, test[key.feature][0], tasks, seed)
    notes = list(context.class_notes)
    if not layout.startswith("flattened"):
        notes.append(f"{name} reads {layout}")
    notes += result.notes
    notes += of_predictions(result.predicted, scenario.test.y.cpu())
    values = {}
    if not key.readout.put_back and permutes_labels(context.plan, context.job, key):
        values["control"] = _permuted_accuracy(readout, features, tasks, seed)
    head = "multi" if task_aware else "single"
    return context.measurement({head: result.predicted}, notes, values=values)


def _permuted_accuracy(
    readout: Readout, train: Tensor, tasks: Sequence[Task], seed: int
) -> float:
    """Return the accuracy of a readout on permuted labels of its training examples.

    Source: Hewitt & Liang, EMNLP 2019, each example being a type of its own.
    """
    generator = stream(seed, "labels")
    permuted = []
    for task in tasks:
        drawn = permutation(len(task.train), generator).to(task.train.y.device)
        data = replace(task.train, y=task.train.y[drawn])
        permuted.append(replace(task, train=data, test=data))
    predicted = read_each(readout, train, train, permuted).predicted
    labels = torch.cat([task.test.y for task in permuted]).cpu()
    return float((predicted == labels).double().mean())

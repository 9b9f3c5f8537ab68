"""The passes of the engine: a network and its cuts in, predictions out.

`run_pass` carries out a pass of `probe.by_layer.schedule`. All networks share the cuts
of the first. All features of a network share one pass over the data for readouts,
diagnostics and similarity, and one for the values that tails are retrained on.
"""

from collections.abc import Sequence

from torch import nn

from probe.by_layer.measurement import HALF, Key, Measured
from probe.by_layer.networks import TrainedNetwork
from probe.by_layer.pass_context import PassContext
from probe.by_layer.putting_back import put_back_blocks
from probe.by_layer.reading_out import read_out
from probe.by_layer.schedule import HybridPass, LayerPass, OutputPass, Pass
from probe.cut.cuts import Cuts
from probe.model import Model
from probe.modules import copied
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from probe.training.batch_norm import reestimate


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
            yield from put_back_blocks(context, network, work)
        case LayerPass():
            yield from _measure_layers(context, network.model, work)


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
        yield from read_out(context, cuts, reading)


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

"""Readouts and diagnostics of the features of a network."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from probe.analysis.units import Activity
from probe.by_layer.diagnosing import diagnose, keep_to_compare
from probe.by_layer.jobs import permutes_labels
from probe.by_layer.measurement import Key, Measured, Measurement
from probe.by_layer.pass_context import PassContext
from probe.by_layer.schedule import ReadingPass
from probe.cut.cuts import Cuts
from probe.notes import of_predictions
from probe.readouts.matrix import (
    Matrices,
    Matrix,
    feature_matrices,
)
from probe.readouts.readout import Readout, read_each
from probe.seeding import permutation, stream
from probe.tasks import Task
from probe.training.evaluation import check_independence


def read_out(context: PassContext, cuts: Cuts, work: ReadingPass) -> Measured:
    """Yield readouts and diagnostics; of a feature that cannot be read they are empty.

    Args:
        context: The job, its data and its settings.
        cuts: The cuts of the network.
        work: The pass.
    """
    keys = [*work.readouts, *work.diagnostics]
    # A feature without a tensor has no matrix: there is nothing to read.
    readable = {facts.name for facts in cuts.facts if facts.value}
    cuts = cuts.at(readable & {key.feature for key in keys})
    activities: dict[str, Activity] = {}
    matrices: Matrices = {}
    if cuts.each:
        filled = activities if work.diagnostics else None
        test = context.scenario.test
        matrices = feature_matrices(cuts, test.x, None, work.pooling, filled)
        if work.checks:
            check_independence(cuts.named_values, test.x, test.y)
        if work.is_compared:
            keep_to_compare(context, keys[0].tasks_seen, matrices)
    finite = {feature for feature, (x, _) in matrices.items() if x.isfinite().all()}
    for key in keys:
        if key.feature not in finite:
            yield key, context.measurement({})
    readouts = [key for key in work.readouts if key.feature in finite]
    if readouts:
        inputs = context.scenario.merged.train.x
        train = feature_matrices(cuts, inputs, pooling=work.pooling)
        for key in readouts:
            yield key, _fit(context, key, train[key.feature], matrices[key.feature])
    diagnostics = [key for key in work.diagnostics if key.feature in finite]
    if diagnostics:
        yield from diagnose(context, diagnostics, activities, matrices)


def _fit(context: PassContext, key: Key, train: Matrix, test: Matrix) -> Measurement:
    """Fit a readout to the matrix of a feature, and predict."""
    scenario = context.scenario
    name = key.readout.planned
    readout = context.readouts[name]
    features, layout = train
    task_aware = context.plan.readouts[name].task_aware
    tasks = scenario.tasks if task_aware else [scenario.merged]
    seed = context.job.seed
    result = read_each(readout, features, test[0], tasks, seed)
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

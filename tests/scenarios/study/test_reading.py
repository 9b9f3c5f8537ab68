"""What a study reads behind features is what `probe.analyze` measures there, bit for bit."""

from __future__ import annotations

from itertools import product

from probe import analyze
from probe.by_layer.probing import DIAGNOSTICS
from probe.by_layer.result import At
from probe.metrics.task_counts import TaskCounts
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import fit
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.networks import build_network
from probe.by_layer.jobs import jobs_of, readings_of
from probe.by_layer.probing import DIAGNOSTICS
from probe.by_layer.reader import Reader
from probe.by_layer.jobs import jobs_of, readings_of
from probe.by_layer.reader import Reader
from scenarios.study.source import check_study

RAW = {
    "name": "read",
    "scenario": {"data": "digits", "train_limit": 200},
    "network": {"name": "mlp"},
    "training": {"epochs": 2, "batch_size": 16},
    "learners": {"finetune": {}},
    "orders": "none",
    "probing": {"readouts": {"retrain": "last", "linear": "last", "ncm": "last"}},
}


def test_a_study_and_an_analysis_read_the_same() -> None:
    study = check_study(RAW, "read")
    scenario = study.scenario.scenario(Location())
    T = len(scenario.tasks)
    job = next(job for job in jobs_of(study, T) if job.kind == "finetune")
    network = build_network("mlp", tuple(scenario.test.x.shape[1:]), scenario.classes)
    initialize(network, "torch", stream(0, "init"))
    fit(network, scenario.tasks[-1].train, study.retraining_recipe, stream(0, "fit"))

    reader = Reader(study=study, job=job, scenario=scenario, cache=CacheSettings())
    each = [one for one in readings_of(study, job) if one.base != DIAGNOSTICS and one.step == T]
    read = {(one.feature, one.readout): found for one, found in reader.read(network, each, dict)}
    classes = tuple(task.classes for task in scenario.tasks)
    analysis = analyze(
        {T: network},
        scenario.merged.train,
        scenario.test,
        classes,
        features := study.features_of("finetune")[:-1],
        readouts=("retrain", "linear", "ncm"),
        recipe=study.retraining_recipe,
    )
    assert read.keys() == set(product(features, analysis.readouts))
    for (feature, readout), found in read.items():
        total = TaskCounts(tasks=classes, tables=found.counts["single"]).total
        one = analysis.evaluations[At(T, feature, readout, 0)]
        assert one.counts == total
        assert one.right.right.sum() == found.right["single"].right.sum()
        assert one.notes == found.notes

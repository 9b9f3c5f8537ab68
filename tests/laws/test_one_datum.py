"""A stored datum changes the rows that follow from it, and no other row of any table.

In the run with doubts, predictions of some owners change at once: an owner is a learner or
control, a layer and a readout, or a network's output, or that with blocks put back. What
may change is derived here from what each table is about.
"""

import json
import random
import shutil
from dataclasses import fields, replace
from itertools import product
from math import isnan
from types import SimpleNamespace

import pandas as pd
import pytest

from probe.analysis.statements import STUCK
from probe.by_layer.jobs import jobs_of
from probe.by_layer.measurement import Measurement
from probe.by_layer.plan import CONTROLS
from probe.results.predictions import Predictions, main_head
from probe.results.run_directory import read_plan, store_of
from probe.results.tables import tables_of
from probe.stored_names import PutBack
from probe.tables.schemas import SCOPES
from tests.probe.results.test_doubts import STORED
from tests.scenarios.own_run import COSTS

# Of a layer and a readout, and of all layers of a learner.
OF_LAYERS = ("layers", "statements", "statement_seeds", "controls")
OF_LEARNERS = ("metrics", "first_layer", "summary", "notes", "causes", "measurements")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the stored run: its plan, measurements by job, and tables."""
    folder = tmp_path_factory.mktemp("doubts")
    shutil.unpack_archive(STORED, folder, filter="data")
    root = folder / "run"
    version = json.loads((root / "study.json").read_bytes())["version"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("probe.by_layer.plan.RESULTS_VERSION", version)
        plan = read_plan(root)
        stored = {
            job: store_of(plan, root, job).measurements() for job in jobs_of(plan)
        }
        tables = tables_of(Predictions.of(plan, stored.items()))
        yield SimpleNamespace(plan=plan, stored=stored, tables=tables)


def changed_rows(run, changes):
    """Return the rows, as they were and are, that change with measurements, by table."""
    stored = {}
    for job, measurements in run.stored.items():
        own = {key: new for (name, key), new in changes.items() if name == job.name}
        stored[job] = {**measurements, **own}
    rows = {}
    for name, table in tables_of(Predictions.of(run.plan, stored.items())).items():
        both = pd.concat([run.tables[name], table])
        different = both.drop_duplicates(keep=False)
        if len(different):
            rows[name] = different
    return rows


def owner_of(job, key):
    """Return what a measurement is of: whose layer, by which readout, blocks put back or not."""
    readout = replace(key.readout, put_back="", since=0)
    return job.learner, key.feature, str(readout), str(key.readout.put_back)


def places(run):
    """Return the measurements with predictions by their owner."""
    of = {}
    for job, measurements in run.stored.items():
        for key, measurement in measurements.items():
            if measurement.predicted:
                of.setdefault(owner_of(job, key), []).append((job, key))
    return of


def turned(measurement, head, example, draw):
    """Return a measurement with one prediction turned right or wrong."""
    label = measurement.test.labels[example]
    answers = measurement.predicted[head].copy()
    others = sorted(set(measurement.test.labels.tolist()) - {int(label)})
    was_right = answers[example] == label
    answers[example] = draw.choice(others) if was_right else label
    return replace(measurement, predicted={**measurement.predicted, head: answers})


def cells(rows):
    """Return the places of rows of measurements but F1, without values."""
    columns = ["learner", "order", "seed", "tasks_seen", "head", "feature", "readout"]
    rows = rows[rows["metric"] != "f1"]
    rows = rows[[*columns, "metric", "task"]].astype(object).fillna("")
    return set(rows.itertuples(index=False, name=None))


def cells_of(run, job, key, head, task):
    """Return the places in measurements that an example of a task enters by definition."""
    place = (job.learner, job.order, job.seed, key.tasks_seen)
    name = run.plan.tasks[task].name
    readout = str(key.readout)
    if key.readout.put_back:
        return set()
    if key.feature:
        of_layer = (*place, "", key.feature, readout)
        return {(*of_layer, "accuracy", name), (*of_layer, "pra", "")}
    output = run.plan.learners[job.learner].features[-1]
    entered = set()
    if head in run.plan.report.heads:
        entered.add((*place, head, "", "", "accuracy", name))
    if head == main_head(job):
        entered.add((*place, "", output, "", "pra", ""))
    return entered


@pytest.mark.parametrize("seed", range(3))
def test_predictions_change_the_rows_of_their_owners_and_no_other(run, seed):
    draw = random.Random(seed)
    changes = {}
    owners = set()
    expected = set()
    at_the_end = set()
    for owner, of_owner in places(run).items():
        if draw.random() < 0.7:
            continue
        job, key = draw.choice(of_owner)
        measurement = run.stored[job][key]
        head = draw.choice(sorted(set(measurement.predicted) - {"half"}))
        # Rewound networks have a class too many where they were not tested.
        tested = measurement.predicted[head] <= measurement.test.labels.max()
        example = draw.choice(tested.nonzero()[0].tolist())
        changes[job.name, key] = turned(measurement, head, example, draw)
        owners.add(owner)
        task = measurement.test.tasks[example]
        expected |= cells_of(run, job, key, head, task)
        if key.tasks_seen == job.last:
            at_the_end.add(owner)
    rows = changed_rows(run, changes)
    assert set(rows) <= {*OF_LAYERS, *OF_LEARNERS}
    assert cells(rows["measurements"]) == expected
    for name in OF_LAYERS:
        for row in rows[name].itertuples():
            assert owners_of(row) & owners, (name, row)
    learners = {learner for learner, *_ in owners}
    for name in ("causes", "notes"):
        changed = rows.get(name, run.tables[name][:0])
        assert set(changed["learner"]) <= learners - set(CONTROLS)
    # Of this learner nothing is missing or withheld.
    layers = rows["layers"].query("learner == 'finetune'")
    seen = set(zip(layers["feature"], layers["readout"], strict=True))
    for learner, feature, readout, put_back in at_the_end:
        if learner == "finetune" and put_back == "rewound":
            assert learner in set(rows["causes"]["learner"])
        elif learner == "finetune" and feature and not put_back:
            assert (feature, readout) in seen


def owners_of(row):
    """Return the owners on which a row about a layer may depend."""
    owners = set()
    for learner in (row.learner, *CONTROLS):
        owners.add((learner, "", "", ""))
        for put_back in ("", "upstream", "block"):
            owners.add((learner, row.feature, row.readout, put_back))
    return owners


# What identifies a row of the tables that follow from facts.
RUN = ["learner", "order", "seed", "tasks_seen"]
PLACES = {
    "costs": RUN,
    "times": RUN,
    "retraining": [*RUN, "feature", "readout", "epoch"],
    "diagnostics": [*RUN, "feature", "metric"],
    "notes": [*RUN, "feature", "readout", "note"],
    "controls": ["learner", "readout", "feature"],
    "causes": ["learner", "score", "quantity", "task_position", "scope"],
}


def facts_of(run, job, key, measurement, draw):
    """Yield the measurement with one fact changed, and the columns that follow by table and row."""
    place = (job.learner, job.order, job.seed, key.tasks_seen)
    layer = (*place, key.feature, str(key.readout))
    # On rewound networks a note says that nothing can be said of them.
    if key.readout.put_back != PutBack.SETS:
        note = replace(measurement, notes=(*measurement.notes, "new"))
        is_shown = measurement.predicted and not key.readout.put_back
        yield note, {("notes", (*layer, "new")): set()} if is_shown else {}
    yield replace(measurement, seconds=measurement.seconds + 1, code="new"), {}
    if measurement.cost:
        yield from cost_facts(place, measurement, draw)
    if measurement.history:
        is_longest = key.readout.budget == max(run.plan.budget)
        for history, epoch, column in changed_histories(measurement.history, draw):
            row = ("retraining", (*layer, epoch))
            follows = {row: {column}} if is_longest else {}
            yield replace(measurement, history=history), follows
    if key.readout.put_back:
        return
    for name, value in measurement.values.items():
        row = ("diagnostics", (*place, key.feature, name))
        columns = {"value"}
        if name == "control":
            row = ("controls", (job.learner, layer[-1], key.feature))
            columns = {"value", "control"}
        # Of equal features more follows.
        if value not in (0, 1) and not isnan(value):
            values = {**measurement.values, name: 0.9 * value}
            is_counted = name != "control" or is_in_all_orders(run, job, key)
            follows = {row: columns} if is_counted else {}
            yield replace(measurement, values=values), follows
    if measurement.loss and job.learner == "finetune":
        loss = {head: 1 + x for head, x in measurement.loss.items()}
        of_network = ("forgotten", "competition")
        causes = {}
        if key.tasks_seen in job.earlier:
            for row in product(of_network, (key.tasks_seen, 0), SCOPES):
                causes["causes", (job.learner, "loss", *row)] = {"value"}
        yield replace(measurement, loss=loss), causes


def is_in_all_orders(run, job, key):
    """Return whether all orders of a seed have a measurement: only then the seed counts."""
    seed = (job.learner, job.seed)
    orders = [
        x for other, x in run.stored.items() if (other.learner, other.seed) == seed
    ]
    return all(key in measurements for measurements in orders)


def cost_facts(place, measurement, draw):
    """Yield the measurement with one number of its cost changed, and what follows."""
    spent = measurement.cost
    name = draw.choice([column.name for column in fields(spent.cost)])
    more = {name: getattr(spent.cost, name) + 10**6}
    cost = replace(spent, cost=replace(spent.cost, **more))
    yield replace(measurement, cost=cost), {("costs", place): {name}}
    cost = replace(spent, seconds=spent.seconds + 1)
    yield replace(measurement, cost=cost), {("times", place): {"seconds"}}
    cost = replace(spent, stuck=True)
    note = ("notes", (*place, "", "", STUCK))
    yield replace(measurement, cost=cost), {note: set()}


def changed_histories(history, draw):
    """Yield histories with one number halved, its epoch and its column."""
    for name, first, column in (("losses", 0, "loss"), ("accuracies", 1, "accuracy")):
        numbers = list(getattr(history, name))
        at = draw.randrange(len(numbers))
        numbers[at] /= 2
        yield replace(history, **{name: tuple(numbers)}), at + first, column


def changed_columns(name, rows):
    """Return the columns that differ in the rows that changed, as they were and are, by row.

    Ends of intervals may be those of the range.
    """
    rows = rows.drop(columns=["low", "high"], errors="ignore")
    rows = rows.astype(object).where(rows.notna(), 0)
    places = rows.groupby(PLACES[name], sort=False)
    return {
        (name, place): {column for column in group if group[column].nunique() > 1}
        for place, group in places
    }


@pytest.mark.parametrize("seed", range(2))
def test_facts_change_the_columns_that_they_are_in_and_no_other(run, seed):
    draw = random.Random(seed)
    changes = {}
    expected = {}
    spent = set()
    changed = {"test", "predicted"}  # what is tested is of all; see above
    for job, measurements in run.stored.items():
        for key, measurement in measurements.items():
            facts = list(facts_of(run, job, key, measurement, draw))
            for new, _ in facts:
                changed |= {
                    name
                    for name, x in vars(new).items()
                    if x is not vars(measurement)[name]
                }
            new, follows = draw.choice(facts)
            if draw.random() < 0.5:
                continue
            changes[job.name, key] = new
            expected |= follows
            if any(name == "costs" for name, _ in follows):
                spent.add(job.learner)
    assert changed == {column.name for column in fields(Measurement)}
    rows = changed_rows(run, changes)
    metrics = rows.pop("metrics", run.tables["metrics"][:0])
    assert set(metrics["learner"]) <= spent
    assert metrics["metric"].str.fullmatch(COSTS).all()
    found = {}
    for name, table in rows.items():
        found |= changed_columns(name, table)
    assert found == expected

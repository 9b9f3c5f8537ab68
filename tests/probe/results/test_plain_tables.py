"""The tables of studies of any shape, finished or not, against plain loops over their counts."""

import tracemalloc
from collections import defaultdict
from dataclasses import astuple, dataclass
from functools import partial
from itertools import product
from math import nan
from statistics import fmean

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from probe.analysis.intervals import mean_over_seeds
from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Spent
from probe.by_layer.plan import Plan
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.scorecard import scorecard
from probe.results.run_directory import store_of
from probe.results.scores import cl_scores
from probe.results.tables import read_results, write_tables
from probe.tables.rows import CostRow, LearnerRow, MeasurementRow, MetricRow, SummaryRow, TimeRow
from probe.tables.run_directory import TIMES
from probe.tables.summary import summarize
from probe.tables.table_file import read_table
from probe.training.costs import Cost
from tests.scenarios.study.toy import measurement, named_plan
from tests.scenarios.tiny_run import PLAIN

HEADS = ("single", "multi", "all")
TASKS = {
    "apart": (("a", (4, 1)), ("b", (0,)), ("c", (2, 3, 5))),
    "alike": tuple((name, (0, 1, 2, 3, 4, 5)) for name in "abc"),
}
LEARNERS = ("finetune", "cumulative", "offline", "pathnet")
COSTS = ("ms", "sss", "ce")
CRITERIA = ("accuracy", *COSTS, "rem", "bwt_plus", "fwt")


@dataclass
class Made:
    """A study whose counts are drawn at random, and all of them by job and part."""

    plan: Plan
    counts: dict
    costs: dict

    def tasks(self, job):
        return [(self.plan.tasks[at].name, self.plan.tasks[at].classes) for at in job.tasks]

    def features(self, job):
        return self.plan.learners[job.learner].features

    def at_step(self, job, tasks_seen, head=None):
        """Return the counts of the network itself, under its main head unless another is named."""
        return self.counts.get((job, f"step-{tasks_seen}"), {}).get(head or main_head(job))

    def retrained(self, job, feature):
        """Return the counts of a feature's retraining; the output's are the network's."""
        if feature == self.features(job)[-1]:
            return self.at_step(job, 3)
        return self.counts.get((job, f"feature-{feature}"), {}).get("single")


def main_head(job):
    return "multi" if job.kind == "pathnet" else "single"


def raw_of(heads=("multi",), mean="examples"):
    return {
        "name": "made",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["hidden1", "layer1"]},
        "learners": {name: {} for name in LEARNERS},
        "orders": {"there": [1, 2, 3], "back": [3, 1, 2]},
        "seeds": 2,
        "probing": PLAIN,
        "report": {"heads": heads, "mean": mean, "weights": {"w": [0, 0, 1, 0, 0, 0, 0]}},
    }


def made(root, seed, missing, tasks, heads, mean):
    draw = np.random.default_rng(seed)
    plan = named_plan(raw_of(heads, mean), TASKS[tasks])
    study = Made(plan, {}, {})
    for job in jobs_of(plan):
        for part in parts_of(plan, job):
            if draw.random() >= missing:
                tasks_seen = int(part.partition("-")[2]) if part.startswith("step-") else None
                named = HEADS[:1] if tasks_seen is None else HEADS[1:2] if job.task_aware else HEADS
                size = (1 if tasks == "apart" else 3, 6)
                # As many test examples of a class each time, and of each class another number.
                tables = {
                    head: draw.multinomial(np.arange(5, 11), np.full(6, 1 / 6), size)
                    for head in named
                }
                counts = {head: tuple(map(Counts, own)) for head, own in tables.items()}
                study.counts[job, part], spent = counts, None
                if tasks_seen:
                    cost = Cost.of_tensor(torch.from_numpy(draw.integers(1, 99, 7)))
                    study.costs[job, tasks_seen] = cost
                    spent = Spent(cost=cost, seconds=0.25 * tasks_seen)
                store_of(plan, root, job).write(part, measurement(counts=counts, spent=spent))
    return study


def plain_accuracy(table, classes, mean):
    each = [(table[c][c], sum(table[c])) for c in classes if sum(table[c])]
    if mean == "classes":
        return float(np.mean([right / seen for right, seen in each])) if each else nan
    return sum(right for right, _ in each) / sum(seen for _, seen in each) if each else nan


def plain_f1(table, classes):
    right = sum(table[c][c] for c in classes)
    true = sum(sum(table[c]) for c in classes)
    predicted = sum(row[c] for row in table for c in classes)
    return 2 * right / (true + predicted)


def plain_pra(counts):
    whole = np.sum([counted.table for counted in counts], axis=0).tolist()
    return sum(whole[c][c] for c in range(6)) / sum(map(sum, whole))


def plain_rows(made):
    """Return the rows of the study, cell by cell."""
    rows = []
    for job in jobs_of(made.plan):
        known = {"scenario": "digits", "network": "mlp", "learner": job.learner}
        row = partial(MeasurementRow, **known, order=job.order, seed=job.seed)

        def add(measure, score, counts, job=job, row=row, **at):
            for task_position, (task, classes) in enumerate(made.tasks(job)):
                table = counts[task_position if len(counts) > 1 else 0].table.tolist()
                value = score(table, classes)
                rows.append(
                    row(
                        **at,
                        metric=measure,
                        task_position=task_position + 1,
                        task=task,
                        value=value,
                    )
                )

        accuracy = partial(plain_accuracy, mean=made.plan.report.mean)
        for head, tasks_seen in product(made.plan.report.heads, range(4)):
            if counts := made.at_step(job, tasks_seen, head):
                add("accuracy", accuracy, counts, tasks_seen=tasks_seen, head=head)
        *inner, output = made.features(job)
        for depth, feature in enumerate(inner, 1):
            if counts := made.retrained(job, feature):
                at = {"feature": feature, "depth": depth, "tasks_seen": 3, "readout": "retrain"}
                rows.append(row(**at, metric="pra", value=plain_pra(counts)))
                add("accuracy", accuracy, counts, **at)
        for tasks_seen in range(4):
            if counts := made.at_step(job, tasks_seen):
                at = {"feature": output, "depth": 1 + len(inner), "tasks_seen": tasks_seen}
                rows.append(row(**at, metric="pra", value=plain_pra(counts)))
        for depth, feature in enumerate([*inner, output], 1):
            if counts := made.retrained(job, feature):
                readout = "retrain" if feature != output else ""
                at = {"feature": feature, "depth": depth, "tasks_seen": 3, "readout": readout}
                add("f1", plain_f1, counts, **at)
    return rows


def plain_metrics(made, rows):
    """Return (learner, paper, metric, head) -> `SeedMean`, from the rows of the table."""
    found, every = defaultdict(list), defaultdict(lambda: np.full((4, 3), nan))
    for row in rows:
        if row.metric == "accuracy" and not row.feature:
            own = every[row.learner, row.order, row.seed, row.head]
            own[row.tasks_seen, row.task_position - 1] = row.value
    R = {run: values for run, values in every.items() if not np.isnan(values).any()}
    jobs = jobs_of(made.plan)
    for job in jobs:

        def add(paper, metric, value, head="", job=job):
            found[job.learner, paper, metric, head].append((job.seed, value))

        offline = next(j for j in jobs if j.offline and j.seed == job.seed)
        ceiling, own = made.at_step(offline, 3, main_head(job)), main_head(job)
        for feature in made.features(job):
            if counts := made.retrained(job, feature):
                add("murata", f"pra[{feature}]", plain_pra(counts))
                if ceiling and not job.offline:
                    lost = plain_pra(ceiling) - plain_pra(counts)
                    add("murata", f"forgetting_strength[{feature}]", lost)
        if job.offline:
            continue
        mine, last = R.get((job.learner, job.order, job.seed, own)), made.at_step(job, 3)
        if mine is not None and any(made.retrained(job, f) for f in made.features(job)[:-1]):
            lost = fmean(mine[k, k - 1] - mine[3, k - 1] for k in (1, 2))
            add("deep_shallow", "shallow_forgetting", lost)
        for head in made.plan.report.heads if last else ():
            if (job.learner, job.order, job.seed, head) in R:
                for paper, metric, value in plain_card(made, job, R, head, every, last).rows():
                    if value is not None:
                        add(paper, metric, value, head)
        costs = [
            made.costs[job, tasks_seen]
            for tasks_seen in (1, 2, 3)
            if (job, tasks_seen) in made.costs
        ]
        if len(costs) == 3:
            for metric, value in plain_costs(costs).items():
                add("diaz_rodriguez", metric, value)
            add("kemker", "model_size_mb", costs[-1].kept_bytes / 1e6)
    means = {name: mean for name, pairs in found.items() if (mean := mean_over_seeds(pairs))}
    for learner, head in product(LEARNERS, made.plan.report.heads):
        keys = {c: (learner, "diaz_rodriguez", c, "" if c in COSTS else head) for c in CRITERIA}
        criteria = {name: means[key] for name, key in keys.items() if key in means}
        for metric, score in cl_scores(criteria, made.plan.report):
            means[learner, "diaz_rodriguez", metric, head] = score
    return means


def plain_costs(costs):
    """Return Diaz-Rodriguez's criteria of three tasks' costs."""
    memory = [cost.parameter_bytes + cost.carried_bytes for cost in costs]
    lifetime = sum(cost.train_bytes for cost in costs)
    return {
        "ms": min(1, fmean(memory[0] / each for each in memory)),
        "sss": 1 - min(1, fmean(cost.stored_bytes / lifetime for cost in costs)),
        "ce": min(1, fmean(cost.ops_one_pass / cost.ops for cost in costs)),
    }


def plain_card(made, job, R, head, every, last):
    tasks = made.tasks(job)
    cumulative = R.get(("cumulative", job.order, job.seed, head))
    ideal = every["offline", "", job.seed, head][3, job.tasks[0]]
    sizes = [len(classes) for _, classes in tasks]
    if made.plan.report.mean == "examples":
        tables = [last[k if len(last) > 1 else 0].table for k in range(3)]
        sizes = [int(tables[k][list(classes)].sum()) for k, (_, classes) in enumerate(tasks)]
    return scorecard(
        AccuracyMatrix(R[job.learner, job.order, job.seed, head]),
        reference=None if cumulative is None else AccuracyMatrix(cumulative),
        ideal=None if np.isnan(ideal) or not ideal else float(ideal),
        test_sizes=sizes,
    )


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32),
    missing=st.sampled_from([0.0, 0.0, 0.1, 0.6, 1.0]),
    tasks=st.sampled_from(list(TASKS)),
    heads=st.sampled_from([("multi",), ("single", "multi"), ("all", "multi", "single")]),
    mean=st.sampled_from(["examples", "classes"]),
)
def test_the_tables_are_those_of_plain_loops(tmp_path_factory, seed, missing, tasks, heads, mean):
    root = tmp_path_factory.mktemp("run")
    study = made(root, seed, missing, tasks, heads, mean)
    write_tables(study.plan, root)
    rows = read_table(root / "measurements.csv", MeasurementRow)
    # Equal as text, as a NaN is no number that equals itself.
    assert list(map(repr, rows)) == list(map(repr, plain_rows(study)))
    summary = read_table(root / "summary.csv", SummaryRow)
    # Rows alone do not say which step was to be the last; accuracies say the learners' order.
    last = [row for row in rows if row.tasks_seen == 3 or row.metric == "accuracy"]
    assert list(map(repr, summary)) == list(map(repr, summarize(last)))
    metrics = read_table(root / "metrics.csv", MetricRow)
    found = {(m.learner, m.paper, m.metric, m.head): (m.mean, m.std, m.seeds) for m in metrics}
    expected = plain_metrics(study, rows)
    assert found.keys() == expected.keys()
    for name, own in expected.items():
        values = (own.mean, own.std, own.seeds)
        # By the same sums, except for means over tasks.
        if name[1] == "deep_shallow" or name[2] in CRITERIA or name[2].startswith("cl_"):
            assert found[name] == pytest.approx(values, nan_ok=True, abs=1e-12), name
        else:
            assert repr(found[name]) == repr(values), name
    costs, times = read_table(root / "costs.csv", CostRow), read_table(root / TIMES, TimeRow)
    spent = {
        (j.learner, j.order, j.seed, tasks_seen): cost
        for (j, tasks_seen), cost in study.costs.items()
    }
    assert [astuple(row) for row in costs] == [
        (*run, *astuple(cost)) for run, cost in spent.items()
    ]
    assert [astuple(row) for row in times] == [(*run, 0.25 * run[3]) for run in spent]


def test_counts_are_let_go_one_by_one(tmp_path):
    """The counts of a large study do not fit into memory; here they are of 200 classes."""
    table = Counts(np.full((200, 200), 1))
    tasks = (("a", tuple(range(100))), ("b", tuple(range(100, 200))))
    plan = named_plan({**raw_of(), "orders": "none", "seeds": 4}, tasks)
    for job in jobs_of(plan):
        store = store_of(plan, tmp_path, job)
        for part in parts_of(plan, job):
            heads = HEADS if part.startswith("step-") else HEADS[:1]
            store.write(part, measurement(counts=dict.fromkeys(heads, (table,))))
    tracemalloc.start()
    try:
        results = list(read_results(plan, tmp_path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    one_job = 11 * (table.cells.nbytes + table.numbers.nbytes)
    assert len(results) == 16
    assert peak < one_job


def test_learners_are_told_by_their_kind_and_their_exemplars(tmp_path):
    total = {"kind": "finetune", "exemplars": {"total": 30, "sampling": "fifo"}}
    learners = {"finetune": {}, "er": {}, "er-5": {"kind": "er", "memory_per_class": 5}, "s": total}
    raw = {"name": "toy", "scenario": {"data": "digits"}, "network": {"name": "mlp"}}
    write_tables(named_plan({**raw, "learners": learners}, TASKS["apart"]), tmp_path)
    assert [astuple(row) for row in read_table(tmp_path / "learners.csv", LearnerRow)] == [
        ("finetune", "finetune", None, None, ""),
        ("er", "er", 128, None, "uniform"),
        ("er-5", "er", 5, None, "uniform"),
        ("s", "finetune", None, 30, "fifo"),
    ]

"""The tables of studies of any shape, finished or not, against plain loops over predictions."""

from collections import defaultdict
from dataclasses import astuple, dataclass
from functools import partial
from itertools import chain, product
from math import nan
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from probe.analysis.intervals import mean_over_seeds
from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.measurement import Cost, Measurement, TrainingCost
from probe.by_layer.plan import Plan
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.scorecard import scorecard
from probe.results.run_directory import store_of
from probe.results.scores import cl_scores
from probe.results.tables import write_tables
from probe.tables.summary import summarize
from probe.tables.table_file import new_table, read_table, records
from probe.tasks import TestExamples
from tests.scenarios.study.toy import named_plan
from tests.scenarios.table_names import TIMES
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
    """A study whose predictions are drawn at random, by job, tasks seen, feature and head."""

    plan: Plan
    test: TestExamples
    predicted: dict
    costs: dict

    def tasks(self, job):
        return [
            (self.plan.tasks[at].name, self.plan.tasks[at].classes) for at in job.tasks
        ]

    def features(self, job):
        return self.plan.learners[job.learner].features

    def at_step(self, job, tasks_seen, head=None, feature=""):
        """Return label and prediction of each example by executed task, of the network itself.

        Under its main head unless another is named; None if it was not measured.
        """
        found = self.predicted.get((job, tasks_seen, feature, head or main_head(job)))
        if found is None:
            return None
        by_task = {task: [] for task in job.tasks}
        columns = np.stack([self.test.tasks, self.test.labels, found])
        for task, y, p in columns.T.tolist():
            by_task[task].append((y, p))
        return list(by_task.values())

    def retrained(self, job, feature):
        """Return the same of a feature's retraining; the output's is the network's."""
        if feature == self.features(job)[-1]:
            return self.at_step(job, 3)
        return self.at_step(job, 3, "single", feature)


def main_head(job):
    return "multi" if job.kind == "pathnet" else "single"


def made(root, seed, missing, tasks, heads, mean):
    raw = {
        "name": "made",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["hidden1", "layer1"]},
        "learners": {name: {} for name in LEARNERS},
        "orders": {"there": [1, 2, 3], "back": [3, 1, 2]},
        "seeds": 2,
        "probing": PLAIN,
        "report": {
            "heads": heads,
            "mean": mean,
            "weights": {"w": [0, 0, 1, 0, 0, 0, 0]},
        },
    }
    draw = np.random.default_rng(seed)
    plan = named_plan(raw, TASKS[tasks])
    # Of each class another number of test examples, in any order.
    each = []
    for t, (_, classes) in enumerate(TASKS[tasks]):
        for c in classes:
            each += [(t, c)] * (5 + c)
    tasks_of, labels = draw.permutation(each).T
    test = TestExamples(labels=labels, tasks=tasks_of)
    study = Made(plan, test, {}, {})
    jobs = []
    for job in jobs_of(plan):
        jobs += [(job, key) for key in keys_of(plan, job)]
    for job, key in jobs:
        if draw.random() < missing:
            continue
        named = HEADS[:1] if key.feature else HEADS[1:2] if job.task_aware else HEADS
        predicted = {head: draw.integers(0, 6, len(each)) for head in named}
        for head, found in predicted.items():
            study.predicted[job, key.tasks_seen, key.feature, head] = found
        cost = None
        if key.tasks_seen and not key.feature:
            spent = Cost(*draw.integers(1, 99, 7).tolist())
            study.costs[job, key.tasks_seen] = spent
            cost = TrainingCost(cost=spent, seconds=0.25 * key.tasks_seen)
        measurement = Measurement(test=test, predicted=predicted, cost=cost)
        store_of(plan, root, job).write(key, measurement)
    return study


def plain_accuracy(tasks, task, classes, mean):
    right = {c: [] for c in classes}
    for y, p in tasks[task]:
        right[y].append(y == p)
    if mean == "classes":
        return float(np.mean([fmean(of_class) for of_class in right.values()]))
    return fmean(chain.from_iterable(right.values()))


def plain_f1(tasks, task, classes):
    """Among the predictions for all tasks where their classes are disjoint, else for its own."""
    pairs = [*chain.from_iterable(tasks)]
    if {y for y, _ in pairs} == {y for y, _ in tasks[task]}:
        pairs = tasks[task]
    right = sum(y == p for y, p in pairs if y in classes)
    return 2 * right / sum((y in classes) + (p in classes) for y, p in pairs)


def plain_pra(tasks):
    pairs = [*chain.from_iterable(tasks)]
    return sum(y == p for y, p in pairs) / len(pairs)


def plain_rows(made):
    """Return the rows of the study, cell by cell."""
    rows = []
    for job in jobs_of(made.plan):
        known = {
            "scenario": "digits",
            "network": "mlp",
            "learner": job.learner,
        }
        row = partial(dict, **known, order=job.order, seed=job.seed)

        def add(measure, score, counts, job=job, row=row, **at):
            cell = partial(row, **at, metric=measure)
            for position, (task, classes) in enumerate(made.tasks(job), 1):
                value = score(counts, position - 1, classes)
                rows.append(cell(task_position=position, task=task, value=value))

        accuracy = partial(plain_accuracy, mean=made.plan.report.mean)
        for head, tasks_seen in product(made.plan.report.heads, range(4)):
            if counts := made.at_step(job, tasks_seen, head):
                add(
                    "accuracy",
                    accuracy,
                    counts,
                    tasks_seen=tasks_seen,
                    head=head,
                )
        *inner, output = made.features(job)
        for depth, feature in enumerate(inner, 1):
            if counts := made.retrained(job, feature):
                at = {
                    "feature": feature,
                    "depth": depth,
                    "tasks_seen": 3,
                    "readout": "retrain",
                }
                rows.append(row(**at, metric="pra", value=plain_pra(counts)))
                add("accuracy", accuracy, counts, **at)
        for tasks_seen in range(4):
            if counts := made.at_step(job, tasks_seen):
                at = {
                    "feature": output,
                    "depth": 1 + len(inner),
                    "tasks_seen": tasks_seen,
                }
                rows.append(row(**at, metric="pra", value=plain_pra(counts)))
        for depth, feature in enumerate([*inner, output], 1):
            if counts := made.retrained(job, feature):
                at = {"feature": feature, "depth": depth, "tasks_seen": 3}
                if feature != output:
                    at["readout"] = "retrain"
                add("f1", plain_f1, counts, **at)
    return rows


def matrices_of(rows):
    """Return R by run and head, with NaN where a row is missing, from the rows of the table."""
    every = defaultdict(lambda: np.full((4, 3), nan))
    for row in rows:
        if row.metric == "accuracy" and not row.feature:
            own = every[row.learner, row.order, row.seed, row.head]
            own[row.tasks_seen, row.task_position - 1] = row.value
    return every


def scores_of_layers(made, job, offline):
    """Yield what a retraining of each feature says of a job."""
    ceiling = made.at_step(offline, 3, main_head(job))
    for feature in made.features(job):
        counts = made.retrained(job, feature)
        if not counts:
            continue
        yield "murata", f"pra[{feature}]", plain_pra(counts), ""
        if ceiling and not job.offline:
            lost = plain_pra(ceiling) - plain_pra(counts)
            yield "murata", f"forgetting_strength[{feature}]", lost, ""


def scores_of_matrices(made, job, every):
    """Yield the scores of a job's matrices, and of its costs."""
    R = {run: values for run, values in every.items() if not np.isnan(values).any()}
    run = job.learner, job.order, job.seed
    mine = R.get((*run, main_head(job)))
    last = made.at_step(job, 3)
    *inner, _ = made.features(job)
    if mine is not None and any(made.retrained(job, f) for f in inner):
        lost = fmean(mine[k, k - 1] - mine[3, k - 1] for k in (1, 2))
        yield "deep_shallow", "shallow_forgetting", lost, ""
    for head in made.plan.report.heads:
        if last and (*run, head) in R:
            card = plain_card(made, job, R, head, every, last)
            for paper, metric, value in card.rows():
                if value is not None:
                    yield paper, metric, value, head
    costs = [made.costs.get((job, tasks_seen)) for tasks_seen in (1, 2, 3)]
    if all(costs):
        for metric, value in plain_costs(costs).items():
            yield "diaz_rodriguez", metric, value, ""
        yield "kemker", "model_size_mb", costs[-1].kept_bytes / 1e6, ""


def plain_metrics(made, rows):
    """Return (learner, paper, metric, head) -> `SeedMean`, from the rows of the table."""
    found = defaultdict(list)
    every = matrices_of(rows)
    jobs = jobs_of(made.plan)
    for job in jobs:
        offline = next(j for j in jobs if j.offline and j.seed == job.seed)
        scores = [*scores_of_layers(made, job, offline)]
        if not job.offline:
            scores += scores_of_matrices(made, job, every)
        for paper, metric, value, head in scores:
            found[job.learner, paper, metric, head].append((job.seed, value))
    means = {name: mean_over_seeds(pairs) for name, pairs in found.items()}
    means = {name: mean for name, mean in means.items() if mean}
    for learner, head in product(LEARNERS, made.plan.report.heads):
        criteria = {}
        for name in CRITERIA:
            key = learner, "diaz_rodriguez", name, "" if name in COSTS else head
            if key in means:
                criteria[name] = means[key]
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
        sizes = [len(own) for own in last]
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
    heads=st.sampled_from(
        [
            ("multi",),
            ("single", "multi"),
            ("all", "multi", "single"),
        ]
    ),
    mean=st.sampled_from(["examples", "classes"]),
)
def test_the_tables_are_those_of_plain_loops(
    tmp_path_factory,
    seed,
    missing,
    tasks,
    heads,
    mean,
):
    root = tmp_path_factory.mktemp("run")
    study = made(root, seed, missing, tasks, heads, mean)
    write_tables(study.plan, root)
    table = read_table(root / "measurements.csv", "measurements")
    assert table.equals(new_table("measurements", plain_rows(study)))
    # Rows alone do not say which step was to be the last; accuracies say the learners'
    # order.
    last = table[(table["tasks_seen"] == 3) | (table["metric"] == "accuracy")]
    assert read_table(root / "summary.csv", "summary").equals(summarize(last))
    metrics = read_table(root / "metrics.csv", "metrics").itertuples()
    found = {
        (m.learner, m.paper, m.metric, m.head): (m.mean, m.std, m.seeds)
        for m in metrics
    }
    expected = plain_metrics(study, records(table))
    assert found.keys() == expected.keys()
    for name, own in expected.items():
        values = (own.mean, own.std, own.seeds)
        # By the same sums, except for means over tasks.
        if (
            name[1] == "deep_shallow"
            or name[2] in CRITERIA
            or name[2].startswith("cl_")
        ):
            assert found[name] == pytest.approx(values, nan_ok=True, abs=1e-12), name
        else:
            assert repr(found[name]) == repr(values), name
    spent = {
        (j.learner, j.order, j.seed, tasks_seen): cost
        for (j, tasks_seen), cost in study.costs.items()
    }
    costs = [(*run, *astuple(cost)) for run, cost in spent.items()]
    assert read_table(root / "costs.csv", "costs").equals(new_table("costs", costs))
    times = new_table("times", [(*run, 0.25 * run[3]) for run in spent])
    assert read_table(root / TIMES, "times").equals(times)


def test_learners_are_told_by_their_kind_and_their_exemplars(tmp_path):
    total = {"kind": "finetune", "exemplars": {"total": 30, "sampling": "fifo"}}
    learners = {
        "finetune": {},
        "er": {},
        "er-5": {"kind": "er", "memory_per_class": 5},
        "s": total,
    }
    raw = {
        "name": "toy",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp"},
    }
    write_tables(named_plan({**raw, "learners": learners}, TASKS["apart"]), tmp_path)
    assert records(read_table(tmp_path / "learners.csv", "learners")) == [
        ("finetune", "finetune", None, None, ""),
        ("er", "er", 128, None, "uniform"),
        ("er-5", "er", 5, None, "uniform"),
        ("s", "finetune", None, 30, "fifo"),
    ]

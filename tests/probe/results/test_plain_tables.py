"""The tables of studies of any shape, finished or not, against plain loops over their counts."""

import tracemalloc
from collections import defaultdict
from dataclasses import astuple, dataclass
from itertools import product
from math import nan
from statistics import fmean

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from probe.by_layer.jobs import jobs_of, parts_of
from probe.by_layer.measurement import Spent
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.mean_over_seeds import SeedMean, mean_over_seeds
from probe.metrics.scorecard import scorecard
from probe.results.run_directory import store_of
from probe.results.tables import read_results, write_tables
from probe.tables.rows import CostRow, LearnerRow, MetricRow, Row, SummaryRow, TimeRow
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
CRITERIA = ("accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt")
# Those of Diaz-Rodriguez 2018, and user-defined ones of a single criterion each.
WEIGHTS = {
    "W1": np.full(7, 1 / 7),
    "W2": np.array([0.4, 0.05, 0.2, 0.1, 0.15, 0.05, 0.05]),
    "W3": np.array([0.4, 0.05, 0.2, 0.2, 0.05, 0.05, 0.05]),
    **{f"w{place}": np.eye(7)[place] for place in range(7)},
}
LEARNERS = ("finetune", "cumulative", "offline", "pathnet")


@dataclass
class Made:
    """A study whose counts are drawn at random, and all of them by job and part."""

    plan: Plan
    counts: dict


def raw_of(heads=("multi",), mean="examples"):
    own = {name: weights.tolist() for name, weights in WEIGHTS.items() if name[0] == "w"}
    return {
        "name": "made",
        "scenario": {"data": "digits"},
        "network": {"name": "mlp", "features": ["hidden1", "layer1"]},
        "learners": {name: {} for name in LEARNERS},
        "orders": {"there": [1, 2, 3], "back": [3, 1, 2]},
        "seeds": 2,
        "probing": PLAIN,
        "report": {"heads": heads, "mean": mean, "weights": own},
    }


def made(root, seed, missing, tasks, heads, mean):
    draw, raw = np.random.default_rng(seed), raw_of(heads, mean)
    plan = named_plan(raw, TASKS[tasks])
    kept = {}
    for job in jobs_of(plan):
        heads_of_job = HEADS[1:2] if job.kind == "pathnet" else HEADS
        for part in parts_of(plan, job):
            if draw.random() >= missing:
                named = heads_of_job if part.startswith("step-") else HEADS[:1]
                size = (1 if tasks == "apart" else 3, 6)
                # As many test examples of a class each time, and of each class another number.
                tables = {
                    head: draw.multinomial(np.arange(5, 11), np.full(6, 1 / 6), size)
                    for head in named
                }
                counts = {head: tuple(map(Counts, own)) for head, own in tables.items()}
                kept[job, part] = counts
                store = store_of(plan, root, job)
                step = int(part.partition("-")[2]) if part.startswith("step-") else 0
                if step:
                    kept[job, step] = Cost.of_tensor(torch.from_numpy(draw.integers(1, 99, 7)))
                spent = Spent(cost=kept[job, step], seconds=0.25 * step) if step else None
                store.write(part, measurement(counts=counts, spent=spent))
    return Made(plan, kept)


def plain_accuracy(counts, tasks, place, mean_over):
    table = counts[place if len(counts) > 1 else 0].table.tolist()
    classes = tasks[place][1]
    if mean_over == "examples":
        seen = sum(sum(table[c]) for c in classes)
        return sum(table[c][c] for c in classes) / seen if seen else nan
    own = [table[c][c] / sum(table[c]) for c in classes if sum(table[c])]
    return float(np.mean(own)) if own else nan


def plain_pra(counts):
    whole = [counted.table.tolist() for counted in counts]
    right = sum(table[c][c] for table in whole for c in range(6))
    return right / sum(map(sum, (row for table in whole for row in table)))


def plain_f1(counts, tasks, place):
    table = counts[place if len(counts) > 1 else 0].table.tolist()
    classes = tasks[place][1]
    right = sum(table[c][c] for c in classes)
    true = sum(sum(table[c]) for c in classes)
    predicted = sum(row[c] for row in table for c in classes)
    return 2 * right / (true + predicted)


def tasks_of(made, job):
    return [(made.plan.tasks[at].name, made.plan.tasks[at].classes) for at in job.tasks]


def features_of(made, job):
    return made.plan.learners[job.learner].features


def plain_rows(made):
    """Return the rows of the study, cell by cell."""
    plan, rows = made.plan, []
    for job in jobs_of(plan):
        tasks = tasks_of(made, job)
        known = {"scenario": "digits", "network": "mlp", "learner": job.learner}
        known |= {"order": job.order, "seed": job.seed}
        for head in plan.report.heads:
            for step in range(4):
                counts = made.counts.get((job, f"step-{step}"), {}).get(head)
                for place in range(3) if counts else ():
                    value = plain_accuracy(counts, tasks, place, plan.report.mean)
                    cell = {"measure": "accuracy", "step": step, "head": head, "value": value}
                    rows.append(Row(**known, **cell, place=place + 1, task=tasks[place][0]))
        *inner, output = features_of(made, job)
        own = "multi" if job.kind == "pathnet" else "single"
        for depth, feature in enumerate(inner, 1):
            at = {**known, "feature": feature, "depth": depth, "step": 3, "readout": "retrain"}
            if counts := model_behind(made, job, feature):
                rows.append(Row(**at, measure="pra", value=plain_pra(counts)))
                for place, (task, _) in enumerate(tasks):
                    value = plain_accuracy(counts, tasks, place, plan.report.mean)
                    cell = {"measure": "accuracy", "place": place + 1, "task": task}
                    rows.append(Row(**at, **cell, value=value))
        for step in range(4):
            if counts := made.counts.get((job, f"step-{step}"), {}).get(own):
                at = {**known, "feature": output, "depth": 1 + len(inner), "step": step}
                rows.append(Row(**at, measure="pra", value=plain_pra(counts)))
        for depth, feature in enumerate([*inner, output], 1):
            at = {**known, "feature": feature, "depth": depth, "step": 3}
            at["readout"] = "retrain" if feature != output else ""
            if counts := model_behind(made, job, feature):
                for place, (task, _) in enumerate(tasks):
                    value = plain_f1(counts, tasks, place)
                    rows.append(Row(**at, measure="f1", place=place + 1, task=task, value=value))
    return rows


def model_behind(made, job, feature):
    if feature == features_of(made, job)[-1]:
        own = "multi" if job.kind == "pathnet" else "single"
        return made.counts.get((job, "step-3"), {}).get(own)
    return made.counts.get((job, f"feature-{feature}"), {}).get("single")


def plain_metrics(made, rows):
    """Return (learner, paper, metric, head) -> (seed, value) pairs, from the rows of the table."""
    found = defaultdict(list)
    cells = defaultdict(dict)
    for row in rows:
        if row.measure == "accuracy" and not row.feature:
            cells[row.learner, row.order, row.seed, row.head][row.step, row.place] = row.value
    R = {run: np.full((4, 3), nan) for run, own in cells.items() if len(own) == 12}
    for run, values in R.items():
        for (step, place), value in cells[run].items():
            values[step, place - 1] = value
    for job in jobs_of(made.plan):
        own = "multi" if job.kind == "pathnet" else "single"
        level = made.counts.get((offline_of(made, job), "step-3"), {}).get(own)
        for feature in features_of(made, job):
            if counts := model_behind(made, job, feature):
                score = plain_pra(counts)
                found[job.learner, "murata", f"pra[{feature}]", ""].append((job.seed, score))
                if level and not job.offline:
                    name = (job.learner, "murata", f"forgetting_strength[{feature}]", "")
                    found[name].append((job.seed, plain_pra(level) - score))
        last = made.counts.get((job, "step-3"), {}).get(own)
        mine = R.get((job.learner, job.order, job.seed, own))
        *inner, _ = features_of(made, job)
        if mine is not None and not job.offline and any(model_behind(made, job, f) for f in inner):
            lost = fmean(mine[k, k - 1] - mine[3, k - 1] for k in (1, 2))
            name = (job.learner, "deep_shallow", "shallow_forgetting", "")
            found[name].append((job.seed, lost))
        for head in made.plan.report.heads:
            run = (job.learner, job.order, job.seed, head)
            if run in R and last and not job.offline:
                card = plain_card(made, job, R, head, cells, last)
                for paper, metric, value in card.rows():
                    if value is not None:
                        found[job.learner, paper, metric, head].append((job.seed, value))
        costs = [made.counts[job, step] for step in (1, 2, 3) if (job, step) in made.counts]
        if len(costs) == 3:
            for (paper, metric), value in plain_costs(costs).items():
                found[job.learner, paper, metric, ""].append((job.seed, value))
    means = {name: spread for name, pairs in found.items() if (spread := mean_over_seeds(pairs))}
    return means | dict(plain_cl(means, made.plan.report.heads))


def plain_costs(costs):
    """Return Diaz-Rodriguez's criteria of three tasks' costs, and Kemker's model size."""
    memory = [cost.parameter_bytes + cost.carried_bytes for cost in costs]
    lifetime = sum(cost.train_bytes for cost in costs)
    return {
        ("diaz_rodriguez", "ms"): min(1, fmean(memory[0] / each for each in memory)),
        ("diaz_rodriguez", "sss"): 1
        - min(1, fmean(cost.stored_bytes / lifetime for cost in costs)),
        ("diaz_rodriguez", "ce"): min(1, fmean(cost.ops_one_pass / cost.ops for cost in costs)),
        ("kemker", "model_size_mb"): costs[-1].kept_bytes / 1e6,
    }


def plain_cl(means, heads):
    """Yield CLscore, of the criteria's means, and CLstability, of their deviations."""
    for learner, head in product(LEARNERS, heads):
        of = {name: "" if name in ("ms", "sss", "ce") else head for name in CRITERIA}
        each = [means.get((learner, "diaz_rodriguez", *own)) for own in of.items()]
        for name, weights in WEIGHTS.items() if all(each) else ():
            seeds = min(own.seeds for own in each)
            score = float(weights @ [own.mean for own in each])
            key = (learner, "diaz_rodriguez")
            yield (*key, f"cl_score[{name}]", head), SeedMean(mean=score, std=nan, seeds=seeds)
            if seeds > 1:
                score = 1 - float(weights @ [own.std for own in each])
                yield (
                    (*key, f"cl_stability[{name}]", head),
                    SeedMean(mean=score, std=nan, seeds=seeds),
                )


def plain_card(made, job, R, head, cells, last):
    tasks = tasks_of(made, job)
    cumulative = R.get(("cumulative", job.order, job.seed, head))
    ideal = cells["offline", "", job.seed, head].get((3, job.tasks[0] + 1))
    if made.plan.report.mean == "classes":
        sizes = [len(classes) for _, classes in tasks]
    else:
        tables = [last[k if len(last) > 1 else 0].table for k in range(3)]
        sizes = [int(tables[k][list(classes)].sum()) for k, (_, classes) in enumerate(tasks)]
    return scorecard(
        AccuracyMatrix(R[job.learner, job.order, job.seed, head]),
        reference=None if cumulative is None else AccuracyMatrix(cumulative),
        ideal=ideal or None,
        test_sizes=sizes,
    )


def offline_of(made, job):
    return next(j for j in jobs_of(made.plan) if j.offline and j.seed == job.seed)


@settings(max_examples=15)
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
    rows = read_table(root / "rows.csv", Row)
    # Equal as text, as a NaN is no number that equals itself.
    assert list(map(repr, rows)) == list(map(repr, plain_rows(study)))
    summary = read_table(root / "summary.csv", SummaryRow)
    # Rows alone do not say which step was to be the last; accuracies say the learners' order.
    last = [row for row in rows if row.step == 3 or row.measure == "accuracy"]
    assert list(map(repr, summary)) == list(map(repr, summarize(last)))
    metrics = read_table(root / "metrics.csv", MetricRow)
    found = {(m.learner, m.paper, m.metric, m.head): (m.mean, m.std, m.seeds) for m in metrics}
    expected = {
        name: (spread.mean, spread.std, spread.seeds)
        for name, spread in plain_metrics(study, rows).items()
    }
    assert found.keys() == expected.keys()
    for name, own in expected.items():
        # By the same sums, except for means over tasks.
        if name[1] == "deep_shallow" or name[2] in CRITERIA or name[2].startswith("cl_"):
            assert found[name] == pytest.approx(own, nan_ok=True, abs=1e-12), name
        else:
            assert repr(found[name]) == repr(own), (name, found[name], own)
    spent = [
        ((job.learner, job.order, job.seed, step), cost)
        for job in jobs_of(study.plan)
        for step in (1, 2, 3)
        if (cost := study.counts.get((job, step)))
    ]
    costs, times = read_table(root / "costs.csv", CostRow), read_table(root / TIMES, TimeRow)
    assert [astuple(row) for row in costs] == [(*run, *astuple(cost)) for run, cost in spent]
    assert [astuple(row) for row in times] == [(*run, 0.25 * run[3]) for run, _ in spent]


def test_counts_are_let_go_job_by_job(tmp_path):
    """The counts of a large study do not fit into memory; here they are drawn with 200 classes."""
    table = Counts(np.full((200, 200), 1))
    tasks = (("a", tuple(range(100))), ("b", tuple(range(100, 200))))
    plan = named_plan({**raw_of(), "orders": "none", "seeds": 4}, tasks)
    jobs = jobs_of(plan)
    for job in jobs:
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
    one_job = 11 * table.table.nbytes
    assert len(results) == len(jobs) == 16
    assert one_job < peak < 3 * one_job


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


def test_a_table_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "summary.csv").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*summary.csv \(Is a directory\): make"):
        write_tables(named_plan(raw_of(), TASKS["apart"]), tmp_path)
    assert not list(tmp_path.glob("*.tmp"))

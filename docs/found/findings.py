"""Tables of single studies: differences paired by seed, and rank correlations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from published import LABELS, pairs, published
from scipy import stats
from tables import method, table, where, with_interval

from probe.analysis.intervals import half_width

PAIR = ["seed", "learner", "feature"]
Differences = dict[str, pd.Series]


def interval(values: pd.Series) -> pd.Series:
    """Return mean and 95 % t interval over seeds."""
    seeds = len(values)
    mean = values.mean()
    quantile = stats.t.ppf(0.975, seeds - 1)
    half = quantile * values.std() / seeds**0.5
    return pd.Series(
        {
            "value": mean,
            "low": mean - half,
            "high": mean + half,
        }
    )


def as_points(values: pd.Series) -> str:
    """Return mean and interval of fractions by seed, in points."""
    return with_interval(interval(values))


def as_fraction(values: pd.Series) -> str:
    """Return mean and interval of values by seed."""
    return with_interval(interval(values), scale=1, digits=2)


def murata(study: str) -> pd.DataFrame:
    """Return the findings of Murata 2020, each as differences in points, paired by seed.

    One holds where all 95 % intervals are above 0, and does not where one is below 0.
    """
    rows = table(study, "measurements")
    rows = where(rows, tasks_seen=[rows.tasks_seen.max()])
    rows = rows[rows.readout.isna() | (rows.readout == "retrain")]
    order = ["finetune", "er", "si", "lwf", "gem"]
    learners = [name for name in order if name in set(rows.learner)]
    layers = list(rows.sort_values("depth").feature.dropna().unique())
    findings = pra_findings(rows, layers, learners, study.startswith("mnist"))
    findings.update(f1_findings(rows, layers, learners))
    lines = []
    for finding, differences in findings.items():
        line = {"finding": finding, **judged(differences)}
        lines.append(line)
    return pd.DataFrame(lines)


def judged(differences: Differences) -> dict[str, str]:
    """Return differences as text, and whether all are above 0."""
    texts = []
    answer = "yes"
    for name, by_seed in differences.items():
        ends = interval(by_seed)
        texts.append(f"{name} {as_points(by_seed)}")
        if ends.high < 0:
            answer = "no"
        elif not ends.low > 0 and answer == "yes":
            answer = "cannot tell"
    return {
        "differences, in points": "; ".join(texts),
        "does it hold here?": answer,
    }


def pra_findings(
    rows: pd.DataFrame, layers: list[str], learners: list[str], is_mnist: bool
) -> dict[str, Differences]:
    """Return what the paper finds of partial retrain accuracy.

    On MNIST it finds that hidden layers are not below the joint network.
    """

    def pra(learner: str, layer: str) -> pd.Series:
        chosen = where(rows, metric="pra", learner=learner, feature=layer)
        return chosen.groupby("seed").value.mean()

    first = layers[0]
    deepest = layers[-2]
    output = layers[-1]
    falls, lost, above, replay_above, others_below = {}, {}, {}, {}, {}
    for learner in learners:
        falls[method(learner)] = pra(learner, first) - pra(learner, deepest)
        difference = pra("offline", deepest) - pra(learner, deepest)
        lost[method(learner)] = -difference if is_mnist else difference
    for learner in learners[1:]:
        name = f"{method(learner)} - fine-tuning"
        above[name] = pra(learner, deepest) - pra("finetune", deepest)
        gain = pra(learner, output) - pra("finetune", output)
        if learner in ("er", "gem"):
            replay_above[name] = gain
        else:
            others_below[f"fine-tuning - {method(learner)}"] = -gain
    return {
        f"PRA falls from {first} to {deepest}": falls,
        f"PRA at {deepest} is {'not ' if is_mnist else ''}below joint": lost,
        f"PRA at {deepest}: all other methods exceed fine-tuning": above,
        "PRA at the output: replay and GEM exceed fine-tuning": replay_above,
        "PRA at the output: SI and LwF do not exceed fine-tuning": others_below,
    }


def f1_findings(
    rows: pd.DataFrame, layers: list[str], learners: list[str]
) -> dict[str, Differences]:
    """Return what the paper finds of F1 by the task's position."""

    def f1(learner: str, layer: str) -> pd.DataFrame:
        chosen = where(rows, metric="f1", learner=learner, feature=layer)
        return chosen.groupby(["seed", "task_position"]).value.mean().unstack()

    third = layers[2]
    deepest = layers[-2]
    rises = {}
    valleys = {}
    for learner in learners:
        by_task = f1(learner, deepest)
        rises[method(learner)] = by_task[5] - by_task[1]
    for learner in learners[1:]:
        by_task = f1(learner, third)
        lower_end = np.minimum(by_task[1], by_task[5])
        valleys[method(learner)] = lower_end - by_task[[2, 3, 4]].mean(axis=1)
    replay = f1("er", third)
    first = {"ER": replay[1] - replay[5]}
    return {
        f"F1 at {deepest} is higher for the last task than the first": rises,
        f"F1 at {third} is lowest for middle tasks, except after fine-tuning": valleys,
        f"ER's F1 at {third} is higher for the first task than the last": first,
    }


def settings(study: str, head: str) -> pd.DataFrame:
    """Return how far each single setting moves A5, F5 and I5 of each method, paired by seed.

    I5 is left out where no network was trained on all tasks.
    """
    every = where(
        table(study, "measurements"),
        head=head,
        metric="accuracy",
    )
    rows = every[every.learner.str.contains("-")]
    reference = every[every.learner == "cumulative"]
    measured = {
        name: accuracy_and_forgetting(rows, name) for name in rows.learner.unique()
    }
    lines = []
    for learner, own in measured.items():
        kind, _, setting = learner.partition("-")
        change = own - measured[f"{kind}-ours"]
        line = {
            "method": method(kind),
            "setting": setting,
            "A5 (%)": f"{100 * own.accuracy.mean():.1f}",
            "change in points": as_points(change.accuracy),
            "F5": f"{own.forgetting.mean():.2f}",
            "change of F5": as_fraction(change.forgetting),
        }
        if len(reference):
            joint = accuracy_and_forgetting(reference, "cumulative")
            line["I5"] = f"{(joint.newest - own.newest).mean():.2f}"
            line["change of I5"] = as_fraction(-change.newest)
        if setting == "ours":
            line |= {name: "" for name in line if name.startswith("change")}
        lines.append(line)
    return pd.DataFrame(lines)


def accuracy_and_forgetting(rows: pd.DataFrame, learner: str) -> pd.DataFrame:
    """Return Chaudhry's A and F after the last task, and its own accuracy, by seed."""
    rows = where(rows, learner=learner)
    rows = rows[rows.readout.isna()]
    last = int(rows.tasks_seen.max())
    by_task = rows.set_index(["seed", "tasks_seen", "task_position"])
    accuracy = by_task.value.unstack()
    final = accuracy.xs(last, level="tasks_seen")
    past = accuracy.drop(index=[0, last], level="tasks_seen", errors="ignore")
    forgotten = past.groupby("seed").max() - final
    return pd.DataFrame(
        {
            "accuracy": final.mean(axis=1),
            "forgetting": forgotten.drop(columns=last).mean(axis=1),
            "newest": final[last],
        }
    )


def costly_measures(study: str) -> dict[str, pd.Series]:
    """Return what takes a retraining or hybrids, by seed, method and layer."""
    layers = table(study, "layers")
    causes = table(study, "causes")
    chosen = {
        "forgotten (linear)": where(
            layers,
            readout="linear",
            quantity="forgotten",
        ),
        "its change accounts for": where(
            causes,
            score="accuracy",
            quantity="attributed",
        ),
        "missing (retraining)": where(
            layers,
            readout="retrain",
            quantity="missing",
        ),
    }
    measures = {}
    for name, rows in chosen.items():
        rows = rows[rows.task_position.isna()]
        measures[name] = rows.set_index(PAIR).value
    return measures


def sessions(study: str) -> pd.DataFrame:
    """Return by method and column how far all sessions together are from the paper's.

    The interval is over the sessions, as the paper prints one run of each.
    """
    rows = pairs(study)
    rows = rows.assign(
        method=rows.row.str.rpartition("-")[0].map(method),
        difference=rows["mean"] - rows.value,
        half=rows.apply(half_of, axis=1),
    )
    lines = []
    for (name, metric), own in rows.groupby(["method", "metric"], sort=False):
        line = {
            "method": name,
            "column": LABELS[metric.partition("[")[0]],
            "ours": f"{100 * own['mean'].mean():.1f}",
            "paper": f"{100 * own.value.mean():.1f}",
            "difference, in points": as_points(own.difference),
            "sessions beyond our interval": str(
                (own.difference.abs() > own.half).sum()
            ),
        }
        lines.append(line)
    return pd.DataFrame(lines)


def half_of(row: pd.Series) -> float:
    """Return half of the 95 % interval of a mean over seeds."""
    return half_width(row["std"], int(row["seeds"]))


def switches(study: str) -> pd.DataFrame:
    """Return by changed setting the new class's accuracy, and how far from the paper's it is.

    The distance is the mean over sessions of the absolute difference, in points; its
    change is paired by seed with the default's.
    """
    rows = table(study, "switches")
    is_geppnet = rows.switch.str.startswith("GeppNet")
    rows["learner"] = np.where(is_geppnet, "geppnet", "geppnet_stm")
    paper = printed(study, rows)
    both = rows.merge(paper, on=["learner", "digit"], suffixes=("", "_paper"))
    for column in ("new", "overall"):
        both[f"{column}_off"] = (both[column] - both[f"{column}_paper"]).abs()
    off = both.groupby(["switch", "seed"])[["new_off", "overall_off"]].mean()
    lines = []
    for (learner, switch), own in rows.groupby(["learner", "switch"], sort=False):
        line = {"switch": switch, **by_digit(own)}
        default = off.loc["GeppNet" if learner == "geppnet" else "default"]
        changes = off.loc[switch] - default
        line["new class, distance"] = as_points(off.loc[switch].new_off)
        line["new class, change"] = as_points(changes.new_off)
        line["overall"] = f"{100 * own.overall.mean():.1f}"
        line["overall, distance"] = as_points(off.loc[switch].overall_off)
        line["overall, change"] = as_points(changes.overall_off)
        lines.append(line)
    for learner, own in paper.groupby("learner", sort=False):
        line = {"switch": f"{method(str(learner))}, paper", **by_digit(own)}
        line["overall"] = f"{100 * own.overall.mean():.1f}"
        lines.append(line)
    return pd.DataFrame(lines).fillna("")


def shares(study: str) -> pd.DataFrame:
    """Return by changed setting the accuracy at each share, and how far from the paper's it is.

    The distance is the mean over shares of the absolute difference, in points; its change
    is paired by seed with the default's.
    """
    rows = table(study, "switches")
    paper = published(study).set_index("learner").value
    paper.index = [int(row.rpartition("-")[2]) for row in paper.index]
    rows["off"] = (rows.accuracy - rows.share.map(paper)).abs()
    off = rows.groupby(["switch", "seed"]).off.mean()
    lines = []
    for switch, own in rows.groupby("switch", sort=False):
        line = {"switch": switch, **by_share(own.groupby("share").accuracy.mean())}
        line["distance"] = as_points(off[switch])
        line["change"] = as_points(off[switch] - off["default"])
        lines.append(line)
    lines.append({"switch": "paper", **by_share(paper)})
    return pd.DataFrame(lines).fillna("")


def by_share(accuracies: pd.Series) -> dict[str, str]:
    """Return accuracies by share, in %."""
    return {str(share): f"{100 * value:.1f}" for share, value in accuracies.items()}


def by_digit(rows: pd.DataFrame) -> dict[str, str]:
    """Return the new class's accuracy in each session, in %."""
    means = rows.groupby("digit").new.mean()
    return {f"Inc-{digit}": f"{100 * mean:.1f}" for digit, mean in means.items()}


def printed(study: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's accuracies of each method and digit."""
    numbers = published(study).set_index(["learner", "metric"]).value
    lines = []
    for learner, digit in product(rows.learner.unique(), rows.digit.unique()):
        own = numbers[f"{learner}-{digit}"]
        line = {
            "learner": learner,
            "digit": digit,
            "new": own["alpha_new[2]"],
            "overall": own["alpha_all[2]"],
        }
        lines.append(line)
    return pd.DataFrame(lines)


def cheap_measures(study: str) -> dict[str, pd.Series]:
    """Return what takes seconds, and the depth of the layer."""
    rows = table(study, "diagnostics")
    rows = rows[rows.order.notna()]  # the controls have none
    means = rows.groupby([*PAIR, "metric"]).value.mean().unstack()
    past = means.filter(like="cka.step").mean(axis=1)
    return {
        "depth of the layer": rows.groupby(PAIR).depth.first(),
        "1 - CKA to its past": 1 - past,
        "1 - CKA to joint": 1 - means["cka.offline"],
        "minus effective rank": -means["rank"],
    }


def spearman(one: pd.Series, other: pd.Series) -> pd.Series:
    """Return the rank correlation of two measures for each seed."""
    both = pd.DataFrame({"one": one, "other": other}).dropna()
    ranks = both.groupby("seed").rank()
    correlations = ranks.groupby("seed").corr()
    return correlations.xs("one", level=-1).other


def correlations(study: str) -> pd.DataFrame:
    """Return Spearman's correlation of each cheap and costly measure: mean over seeds, interval.

    Over pairs of method and hidden layer; `above_depth` is what it has above the
    layer's depth.
    """
    measures = cheap_measures(study)
    depth = measures["depth of the layer"]
    lines = []
    for costly, other in costly_measures(study).items():
        base = spearman(depth, other)
        for cheap, values in measures.items():
            rho = spearman(values, other)
            line = {
                "cheap": cheap,
                "costly": costly,
                "above_depth": "" if values is depth else as_fraction(rho - base),
            }
            line.update(interval(rho))
            lines.append(line)
    return pd.DataFrame(lines)


def methods(study: str) -> pd.DataFrame:
    """Return for each method the correlation of a layer's depth and what it forgot, over seeds."""
    depth = cheap_measures(study)["depth of the layer"]
    lines = []
    for learner, forgotten in costly_measures(study)["forgotten (linear)"].groupby(
        "learner"
    ):
        lines.append({"learner": learner, **interval(spearman(depth, forgotten))})
    return pd.DataFrame(lines)


def cheap(study: str) -> pd.DataFrame:
    """Return the correlations as text, and whether each lies above one half."""
    rows = correlations(study)
    answers = pd.Series("cannot tell", rows.index)
    answers[rows.low > 0.5] = "yes"
    answers[rows.high < 0.5] = "no"
    return pd.DataFrame(
        {
            "cheap measure": rows.cheap,
            "costly measure": rows.costly,
            "rank correlation": rows.apply(
                with_interval,
                axis=1,
                scale=1,
                digits=2,
            ),
            "above one half?": answers,
            "minus depth's": rows.above_depth,
        }
    )

"""Write the tables of found.md and checklist.md, and all pages' pictures, from the studies here.

    python docs/found/write.py            # or `make found`
    python docs/found/write.py --check    # exit code 1 if the page has other tables

A table stands between `<!-- KIND STUDY ... -->` and `<!-- end -->`, KIND being a
function below; a picture found/STUDY/KIND.png is the figure of that kind,
KIND-READOUT.png that of one readout, causes-LEARNER-LEARNER.png that of some learners.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from scipy import stats

import figures
from probe.analysis.intervals import half_width
from probe.answers.study import widest_scope

HERE = Path(__file__).parent
PAGES = HERE.with_suffix(".md"), HERE.parent / "checklist.md"
_BLOCK = re.compile(r"(<!-- (\w+) ([^>]*) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_NAMES = {
    **{
        "er": "ER",
        "lwf": "LwF",
        "finetune": "fine-tuning",
        "cumulative": "cumulative",
        "rwalk": "RWalk",
    },
    **{"pathnet": "PathNet", "geppnet": "GeppNet", "geppnet_stm": "GeppNet+STM"},
}

# A (%), F and I after the last task of Chaudhry 2018, Table 1: MNIST, CIFAR-100.
_CHAUDHRY = {
    "chaudhry-multi": {
        "finetune": (90.3, 0.12, 6.6e-4),
        "ewc": (99.3, 0.001, 0.01),
        "si": (99.3, 0.002, 0.01),
        "rwalk": (99.3, 0.003, 0.01),
    },
    "chaudhry-single": {
        "finetune": (38.0, 0.62, 0.29),
        "ewc": (55.8, 0.08, 0.77),
        "si": (57.6, 0.11, 0.8),
        "icarl_hybrid1": (36.6, 0.68, -0.01),
        "icarl": (55.8, 0.19, 0.46),
        "finetune-s": (73.7, 0.30, 0.03),
        "ewc-s": (79.7, 0.14, 0.22),
        "si-s": (78.7, 0.24, 0.05),
        "rwalk-s": (82.5, 0.15, 0.14),
    },
    "chaudhry-cifar100-multi": {
        "finetune": (44.4, 0.36, 0.02),
        "ewc": (72.8, 0.001, 0.07),
        "si": (73.2, 0, 0.06),
        "rwalk": (74.2, 0.004, 0.04),
    },
    "chaudhry-cifar100-single": {
        "finetune": (10.2, 0.36, -0.06),
        "ewc": (23.1, 0.03, 0.17),
        "si": (22.8, 0.04, 0.2),
        "icarl_hybrid1": (7.4, 0.40, 0.06),
        "icarl": (9.5, 0.11, 0.35),
        "finetune-s": (12.9, 0.64, -0.3),
        "ewc-s": (33.6, 0.27, -0.05),
        "si-s": (33.6, 0.27, -0.03),
        "rwalk-s": (34.0, 0.28, -0.06),
    },
}
# Diaz-Rodriguez 2018, Tables 1 and 3.
_DIAZ = {
    "finetune": (0.3825, 0.6664, 0, 0.1, 1, 1, 0.4492, 0.5140, 0.9986),
    "cumulative": (0.7225, 1, 0.0673, 0.1, 1, 0.55, 0.1496, 0.5128, 0.9979),
    "ewc": (0.5940, 0.9821, 0, 0.1, 0.4, 1, 0.3495, 0.4894, 0.9972),
    "lwf": (0.5278, 0.9667, 0, 0.1, 1, 1, 0.4429, 0.5768, 0.9986),
    "si": (0.5795, 0.9620, 0, 0.1, 0.4, 1, 0.3613, 0.4861, 0.9970),
}
# Omega_base, Omega_new, Omega_all and megabytes of Kemker 2018, Table 2, MNIST.
_KEMKER = {
    "kemker-permutation": {
        "finetune": (0.434, 0.996, 0.702, 1.91),
        "ewc": (0.437, 0.992, 0.746, 3.83),
        "pathnet": (0.687, 0.887, 0.848, 2.80),
        "geppnet": (0.912, 0.242, 0.364, 190.08),
        "geppnet_stm": (0.892, 0.212, 0.326, 191.02),
        "fel": (0.117, 0.990, 0.279, 4.54),
    },
    "kemker-incremental": {
        "finetune": (0.060, 1.000, 0.181, 1.91),
        "ewc": (0.001, 1.000, 0.133, 3.83),
        "geppnet": (0.960, 0.824, 0.922, 190.08),
        "geppnet_stm": (0.919, 0.599, 0.824, 191.02),
        "fel": (0.451, 1.000, 0.439, 4.54),
    },
}
# Average accuracy (%) of van de Ven 2022, Table 3, Split CIFAR-100, by scenario.
_VANDEVEN_LEARNERS = ("finetune", "ewc", "si", "lwf", "er", "offline")
_VANDEVEN = {
    "domain": (18.42, 21.65, 22.58, 29.45, 39.00, 46.85),
    "task": (61.43, 76.34, 74.84, 78.59, 76.43, 78.78),
    "class": (7.71, 8.24, 8.10, 25.57, 37.57, 49.78),
}
_CRITERIA = (
    "accuracy",
    "rem",
    "bwt_plus",
    "fwt",
    "ms",
    "sss",
    "ce",
    "cl_score[W1]",
    "cl_stability[W1]",
)


def layers(study: str, readout: str, *learners: str) -> Iterable[Sequence[str]]:
    """Yield the quantities of each layer, in % or points, with 95 % intervals; learners: or all."""
    rows = _of_all(study)
    rows = rows[(rows.readout == readout) & rows.learner.isin(learners or rows.learner)]
    quantities = (
        "floor",
        "accuracy",
        "ceiling",
        "missing",
        "never_learned",
        "forgotten",
    )
    yield "learner", "layer", *(name.replace("_", " ") for name in quantities)
    for learner in dict.fromkeys(rows.learner):
        own = rows[rows.learner == learner].sort_values("depth")
        for feature in dict.fromkeys(own.feature):
            at = own[own.feature == feature].set_index("quantity")
            plain = (_percent(at, name) for name in quantities[:3])
            ends = (_points(at, name) for name in quantities[3:])
            yield _name(learner), feature, *plain, *ends


def forgotten(study: str, readout: str) -> Iterable[Sequence[str]]:
    """Yield the points of accuracy forgotten in each layer, a line for each learner."""
    rows = _of_all(study)
    rows = rows[(rows.readout == readout) & (rows.quantity == "forgotten")].sort_values(
        "depth"
    )
    features = list(dict.fromkeys(rows.feature))
    yield "learner", *features
    for learner in sorted(
        set(rows.learner), key=lambda name: int((re.findall(r"\d+", name) or [0])[0])
    ):
        own = rows[rows.learner == learner].set_index("feature")
        yield _name(learner), *(_points(own, feature) for feature in features)


def causes(study: str, *learners: str) -> Iterable[Sequence[str]]:
    """Yield what the change of each layer accounts for, its verdict, and what its readout forgot.

    The last column asks whether a share is larger the deeper the layer: yes where each
    interval lies above that of the layer before, no where one lies below that of an
    earlier layer.
    """
    rows = widest_scope(_table(study, "causes"))
    rows = rows[rows.task_position.isna() & (rows.score == "accuracy")]
    readouts = _of_all(study)
    readouts = readouts[
        (readouts.readout == "linear") & (readouts.quantity == "forgotten")
    ]
    layers = list(dict.fromkeys(readouts.sort_values("depth").feature))
    yield (
        "learner",
        "points",
        *layers,
        "more classes compete",
        "the deeper, the larger?",
    )
    for learner in learners:
        of_learner = rows[rows.learner == learner]
        shares = (
            of_learner[of_learner.quantity == "attributed"]
            .set_index("feature")
            .loc[layers]
        )
        competition = _points(of_learner.set_index("quantity"), "competition")
        cells = [_points(shares, layer) for layer in layers]
        yield (
            _name(learner),
            "its change accounts for",
            *cells,
            competition,
            _grows(shares),
        )
        if shares.verdict.notna().all():
            yield "", "verdict", *shares.verdict, "", ""
        by_layer = readouts[readouts.learner == learner].set_index("feature")
        cells = [_points(by_layer, layer) for layer in layers]
        yield "", "its readout forgot", *cells, "", ""


def _grows(shares: pd.DataFrame) -> str:
    """Return whether the intervals of shares, by depth, lie above each other."""
    intervals = list(zip(shares.low, shares.high, strict=True))
    if all(deeper[0] > layer[1] for layer, deeper in pairwise(intervals)):
        return "yes"
    falls = any(deeper[1] < layer[0] for layer, deeper in combinations(intervals, 2))
    return "no" if falls else "cannot tell"


def budgets(study: str, feature: str) -> Iterable[Sequence[str]]:
    """Yield what a layer misses after each budget of retraining, and what is said of it."""
    rows, said = _of_all(study), _table(study, "statements")
    rows, said = rows[rows.feature == feature], said[said.statement == "below_ceiling"]
    verdicts = said[said.feature == feature].set_index(["learner", "readout"]).verdict
    yield (
        "learner",
        "epochs",
        "floor",
        "accuracy",
        "ceiling",
        "missing",
        "moved",
        "below?",
    )
    for (learner, readout), own in rows.groupby(["learner", "readout"], sort=False):
        at = own.set_index("quantity")
        multiple = int(readout.partition("@")[2] or 1)
        budget = "(linear)" if readout == "linear" else str(5 * multiple)
        cells = (_percent(at, name) for name in ("floor", "accuracy", "ceiling"))
        moved = _points(at, "missing_drift") if "missing_drift" in at.index else ""
        verdict = verdicts[learner, readout].replace("open", "cannot tell")
        yield _name(learner), budget, *cells, _points(at, "missing"), moved, verdict


def murata(study: str) -> Iterable[Sequence[str]]:
    """Yield the findings of Murata 2020, each as differences in points, paired by seed.

    It holds where all 95 % intervals are above 0, and does not where one is below 0.
    One seed has no interval.
    """
    rows = _table(study, "measurements")
    rows = rows[
        (rows.tasks_seen == rows.tasks_seen.max())
        & (rows.readout.fillna("retrain") == "retrain")
    ]
    seeds = rows.groupby(
        ["metric", "learner", "feature", "task_position", "seed"], dropna=False
    )
    mean = seeds.value.mean()  # over the orders of a seed
    layer = list(dict.fromkeys(rows.sort_values("depth").feature.dropna()))
    learners = [one for one in _MURATA if one in set(rows.learner)]
    pra = {
        (one, at): mean.loc["pra", one, at].groupby("seed").mean()
        for one in learners
        for at in layer
    }

    def f1(learner: str, at: str, task_position: int) -> pd.Series[float]:
        return mean.loc["f1", learner, at, task_position]

    deepest, third, output = layer[-2], layer[2], layer[-1]
    others = [one for one in learners if one != "finetune"]
    replay = [one for one in others if one in ("er", "gem")]
    are = "are" if len(replay) > 1 else "is"
    inner = {
        one: sum(f1(one, third, task_position) for task_position in (2, 3, 4)) / 3
        for one in others
    }
    claims = {
        f"PRA falls from {layer[0]} to {deepest}": {
            one: pra[one, layer[0]] - pra[one, deepest] for one in learners
        },
        f"at {deepest} all others are above fine-tuning": {
            f"{one} - finetune": pra[one, deepest] - pra["finetune", deepest]
            for one in others
        },
        f"at the output {' and '.join(map(str.upper, replay))} {are} above fine-tuning": {
            f"{one} - finetune": pra[one, output] - pra["finetune", output]
            for one in replay
        },
        "at the output SI and LwF are not above fine-tuning": {
            f"finetune - {one}": pra["finetune", output] - pra[one, output]
            for one in others
            if one in ("si", "lwf")
        },
        f"at {deepest} F1 is higher for the last task than for the first": {
            one: f1(one, deepest, 5) - f1(one, deepest, 1) for one in learners
        },
        f"at {third} F1 has a valley, but for fine-tuning": {
            one: np.minimum(f1(one, third, 1), f1(one, third, 5)) - inner[one]
            for one in others
        },
        f"at {third} ER favors the first task over the last": {
            one: f1(one, third, 1) - f1(one, third, 5) for one in others if one == "er"
        },
    }
    yield "finding", "differences, in points", "does it hold here?"
    for claim, differences in claims.items():
        if not differences:  # of a learner that was not run
            continue
        ends = {name: _interval(each) for name, each in differences.items()}
        said = "; ".join(
            f"{n} {_with_interval(v, low, high)}" for n, (v, low, high) in ends.items()
        )
        holds = all(low > 0 for _, low, _ in ends.values())
        fails = any(high < 0 for _, _, high in ends.values())
        yield claim, said, "yes" if holds else "no" if fails else "cannot tell"


_MURATA = ("finetune", "er", "si", "lwf", "gem")


def _interval(values: pd.Series[float]) -> tuple[float, float, float]:
    """Return mean and 95 % interval over seeds, of fractions in points."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std() / len(values) ** 0.5
    mean = values.mean()
    return 100 * mean, 100 * (mean - half), 100 * (mean + half)


def chaudhry(study: str) -> Iterable[Sequence[str]]:
    """Yield A, F and I after the last task beside the paper's; rows with the paper's strengths."""
    rows, last = _metrics(study), _last(study)
    yield (
        "learner",
        "strength",
        f"A{last} (%)",
        "paper",
        f"F{last}",
        "paper",
        f"I{last}",
        "paper",
    )
    for learner in dict.fromkeys(rows.learner):
        known = _CHAUDHRY[study].get(learner.removesuffix("-paper"))
        if learner == "cumulative":
            continue
        own = rows[rows.learner == learner].set_index("metric")
        numbers = []
        for k, (name, scale, digits) in enumerate(_AFI):
            numbers.append(_with_half(own.loc[f"{name}[{last}]"], digits, scale))
            numbers.append(f"{known[k]:g}" if known else "")
        ours = (
            "paper's"
            if last == "10" and learner in _CALIBRATED
            else _CALIBRATED.get(learner, "")
        )
        strength = "paper's" if learner.endswith("-paper") else ours
        yield learner.removesuffix("-paper"), strength, *numbers


_AFI = ("average_accuracy", 100, 1), ("forgetting", 1, 3), ("intransigence", 1, 3)
_CALIBRATED = dict.fromkeys(
    ("ewc", "si", "rwalk", "ewc-s", "si-s", "rwalk-s"), "calibrated"
)


def _last(study: str) -> str:
    """Return the number of tasks of a study of Chaudhry's."""
    return "10" if "cifar" in study else "5"


def variants(study: str, metric: str) -> Iterable[Sequence[str]]:
    """Yield a metric of learners named METHOD-VARIANT, in %: a line for each method."""
    rows = _metrics(study)
    rows = rows[rows.metric == metric]
    method, variant = (rows.learner.str.rsplit("-", n=1).str[k] for k in (0, 1))
    yield "method", *(name.replace("_", " ") for name in dict.fromkeys(variant))
    for name, own in rows.groupby(method, sort=False):
        yield _name(str(name)), *(_with_half(row, 1, 100) for _, row in own.iterrows())


def authors(study: str, head: str, *others: str) -> Iterable[Sequence[str]]:
    """Yield A5, F5 and I5 by the authors' settings, the paper's, and A5 of other studies' rows."""
    rows = _metrics(study)
    rows = rows[rows["head"] == head]
    known, other = _CHAUDHRY[others[0]], _metrics(others[0])
    yield (
        "learner",
        "A5 (%)",
        "paper",
        "ours, paper's strength",
        "F5",
        "paper",
        "I5",
        "paper",
    )
    for learner, paper in known.items():
        names = [f"{learner}-authors", learner]
        own = rows[rows.learner == next(n for n in names if n in set(rows.learner))]
        own = own.set_index("metric")
        numbers = [
            _with_half(own.loc[f"{name}[5]"], digits, scale)
            for name, scale, digits in _AFI
        ]
        ours = other[other.learner.isin([f"{learner}-paper"])].set_index("metric")
        if ours.empty:
            ours = other[other.learner == learner].set_index("metric")
        beside = _with_half(ours.loc["average_accuracy[5]"], 1, 100)
        a, f, i = (f"{number:g}" for number in paper)
        yield learner, numbers[0], a, beside, numbers[1], f, numbers[2], i


def settings(study: str, head: str) -> Iterable[Sequence[str]]:
    """Yield how far each single setting moves A5 and F5 of each learner, paired by seed; and I5."""
    rows = _table(study, "measurements")
    rows = rows[
        (rows["head"] == head) & (rows.metric == "accuracy") & rows.readout.isna()
    ]
    a = rows.set_index(["learner", "seed", "tasks_seen", "task_position"]).value
    last = a.index.get_level_values("tasks_seen").max()
    scored = _metrics(study)
    scored = scored[
        (scored["head"] == head) & (scored.metric == f"intransigence[{last}]")
    ]
    failed = scored.set_index("learner")["mean"].dropna()
    columns = (
        "learner",
        "setting",
        f"A{last} (%)",
        "change in points",
        f"F{last}",
        "change",
    )
    yield *columns, *([f"I{last}"] if len(failed) else [])
    for learner in (name for name in dict.fromkeys(rows.learner) if "-" in name):
        kind, _, setting = learner.partition("-")
        ends, base = (
            _accuracy_and_forgetting(a[one], last) for one in (learner, f"{kind}-ours")
        )
        changes = ["", ""]
        if setting != "ours":
            changes = [
                f"{v:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
                for (v, low, high), digits in (
                    (_interval(ends[0] - base[0]), 1),
                    (tuple(x / 100 for x in _interval(ends[1] - base[1])), 2),
                )
            ]
        yield (
            *(kind, setting, f"{100 * ends[0].mean():.1f}", changes[0]),
            *(f"{ends[1].mean():.2f}", changes[1]),
            *([f"{failed[learner]:.2f}"] if len(failed) else []),
        )


def _accuracy_and_forgetting(
    a: pd.Series[float], last: int
) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return Chaudhry's A and F after the last task by seed, of accuracies by seed, k and j."""
    by_task = a.unstack("task_position")
    final = by_task.xs(last, level="tasks_seen")
    past = by_task[by_task.index.get_level_values("tasks_seen").isin(range(1, last))]
    best = past.groupby("seed").max()
    earlier = [j for j in final.columns if j < last]
    return final.mean(axis=1), (best - final)[earlier].mean(axis=1)


def diaz(study: str) -> Iterable[Sequence[str]]:
    """Yield the criteria of each strategy, above the paper's."""
    rows = _metrics(study)
    yield "", "A", "REM", "BWT+", "FWT", "MS", "SSS", "CE", "CLscore W1", "CLstability"
    for learner, paper in _DIAZ.items():
        mine = rows[(rows.learner == learner) & (rows.paper == "diaz_rodriguez")]
        own = mine.set_index("metric")
        numbers = [f"{own.loc[name, 'mean']:.4f}" for name in _CRITERIA]
        yield _name(learner), _with_half(own.loc["accuracy"], 4), *numbers[1:]
        yield "paper", *(f"{value:.4f}" for value in paper)


def kemker(study: str) -> Iterable[Sequence[str]]:
    """Yield Omegas and size beside the paper's, and the seconds that a run's sessions took."""
    rows = _metrics(study)
    seconds = _table(study, "times").groupby(["learner", "seed"]).seconds.sum()
    beside = (
        "Omega_base",
        "paper",
        "Omega_new",
        "paper",
        "Omega_all",
        "paper",
        "MB",
        "paper",
    )
    yield "learner", *beside, "s"
    for learner in dict.fromkeys(rows.learner):
        own = rows[(rows.learner == learner) & (rows.paper == "kemker")].set_index(
            "metric"
        )
        paper = _KEMKER[study].get(learner, ("",) * 4)
        omegas = [
            _with_half(own.loc[name], 3)
            for name in ("omega_base", "omega_new", "omega_all")
        ]
        numbers = (*omegas, f"{own.loc['model_size_mb', 'mean']:.2f}")
        cells = (
            each for pair in zip(numbers, map(str, paper), strict=True) for each in pair
        )
        yield _name(learner), *cells, f"{seconds[learner].mean():.0f}"


def multimodal(*first: str) -> Iterable[Sequence[str]]:
    """Yield the Omegas of Kemker's third experiment, multi-head, by the data set learned first."""
    rows = pd.read_csv(HERE / "kemker" / "multimodal.csv.gz")
    rows = rows[rows["head"] == "multi"]
    omegas = "omega_base", "omega_new", "omega_all"
    yield (
        "learner",
        *(f"{name} first: {omega[6:]}" for name in first for omega in omegas),
    )
    for learner, own in rows.groupby("learner", sort=False):
        at = own.set_index("metric")
        names = [f"{omega}[{name} first]" for name in first for omega in omegas]
        yield _name(str(learner)), *(_with_half(at.loc[name], 3) for name in names)


def scenarios(*studies: str) -> Iterable[Sequence[str]]:
    """Yield accuracy at the end, forgotten (F), never learned (N) and room, of several studies."""
    yield (
        "study",
        "learner",
        "R",
        "F output",
        "F conv3",
        "F conv2",
        "N conv3",
        "room at conv3",
    )
    for study in studies:
        rows = _of_all(study)
        for learner, own in rows[rows.readout == "linear"].groupby(
            "learner", sort=False
        ):
            at = {
                feature: each.set_index("quantity")
                for feature, each in own.groupby("feature")
            }
            room = at["conv3"].value["ceiling"] - at["conv3"].value["floor"]
            forgot = (_points(at[f], "forgotten") for f in ("output", "conv3", "conv2"))
            never = _points(at["conv3"], "never_learned")
            end = _percent(at["output"], "accuracy")
            yield study, _name(str(learner)), end, *forgot, never, f"{100 * room:.1f}"


def vandeven(study: str) -> Iterable[Sequence[str]]:
    """Yield the accuracy at the end beside the paper's."""
    rows = _of_all(study)
    rows = rows[(rows.feature == "output") & rows.task_position.isna()]
    yield "learner", "ours", "paper", "difference"
    published = _VANDEVEN[study.removeprefix("vandeven-")]
    for learner, paper in zip(_VANDEVEN_LEARNERS, published, strict=True):
        own = rows[(rows.learner == learner) & (rows.quantity == "accuracy")]
        own = rows[rows.quantity == "ceiling"] if learner == "offline" else own
        mine = 100 * own.value.iloc[0]
        name = "joint (offline)" if learner == "offline" else _name(learner)
        yield name, f"{mine:.1f}", f"{paper:g}", f"{mine - paper:.1f}"


def cheap(study: str) -> Iterable[Sequence[str]]:
    """Yield Spearman's correlation of each cheap and costly measure, and what it has above depth's.

    Over pairs of learner and hidden layer, by seed; means and 95 % t intervals over
    seeds.
    """
    pair = ["seed", "learner", "feature"]
    layers, causes = (
        _table(study, name).set_index(pair) for name in ("layers", "causes")
    )
    layers, causes = (rows[rows.task_position.isna()] for rows in (layers, causes))
    forgotten_of = (layers.readout == "linear") & (layers.quantity == "forgotten")
    missing_of = (layers.readout == "retrain") & (layers.quantity == "missing")
    costly = {
        "forgotten (linear)": layers.value[forgotten_of],
        "its change accounts for": causes.value[
            (causes.score == "accuracy") & (causes.quantity == "attributed")
        ],
        "missing (retraining)": layers.value[missing_of],
    }
    rows = _table(study, "diagnostics")
    rows = rows[rows.order.notna()]  # the controls have none
    of = rows.groupby([*pair, "metric"]).value.mean().unstack()
    measures = {
        "depth of the layer": rows.groupby(pair).depth.first(),
        "1 - CKA to its past": 1 - of.filter(like="cka.step").mean(axis=1),
        "1 - CKA to offline": 1 - of["cka.offline"],
        "less effective rank": -of["rank"],
        "dead units": of["dead"],
    }
    yield "measure", *(cell for name in costly for cell in (name, "above depth's"))
    depth: dict[str, pd.Series[float]] = {}
    for measure, values in measures.items():
        if values.nunique() == 1:
            yield measure, *["the same everywhere", ""] * len(costly)
            continue
        cells = []
        for name, other in costly.items():
            rho = _spearman(values, other)
            above = rho - depth.setdefault(name, rho)
            value, low, high = (end / 100 for end in _interval(rho))
            answer = "yes" if low > 0.5 else "no" if high < 0.5 else "cannot tell"
            cells.append(f"{value:.2f} [{low:.2f}, {high:.2f}]: {answer}")
            value, low, high = (end / 100 for end in _interval(above))
            cells.append(f"{value:.2f} [{low:.2f}, {high:.2f}]" if above.any() else "")
        yield measure, *cells


def _spearman(values: pd.Series[float], other: pd.Series[float]) -> pd.Series[float]:
    """Return Spearman's rank correlation for each seed."""
    both = pd.concat({0: values, 1: other}, axis=1, join="inner").groupby("seed")
    return both.apply(lambda pairs: pairs[0].corr(pairs[1], method="spearman"))


def checklist(*source: str) -> Iterable[Sequence[str]]:
    """Yield the items of a source, with command, setting, and ours beside theirs where it ran."""
    items = pd.read_csv(HERE / "checklist.csv", keep_default_na=False)
    yield "item", "command", "setting", "ours beside theirs"
    for row in items[items.source == " ".join(source)].itertuples():
        command = "; ".join(f"`{part}`" for part in row.command.split("; ") if part)
        beside = []
        if row.item.startswith("Table") and row.shipped:
            beside = [_beside(row.shipped, row.item)]
        shipped = [f"tables: `docs/found/{row.shipped}`"] if row.shipped else []
        cells = [*beside, *shipped, *filter(None, [row.remark])]
        yield row.item, command or "none", row.setting, "; ".join(cells)


def _beside(study: str, item: str) -> str:
    """Return in a sentence how far the tables of a study are from the paper's."""
    if (paper := study.replace("authors", "single")) in _CHAUDHRY:
        mine, what = f"average_accuracy[{_last(study)}]", f"A{_last(study)}"
        theirs = {n: p[0] / 100 for n, p in _CHAUDHRY[paper].items()}
    elif study in _KEMKER:
        size = "MB" in item
        mine, what = ("model_size_mb", "MB") if size else ("omega_all", "Omega_all")
        theirs = {n: p[3 if size else 2] for n, p in _KEMKER[study].items()}
    elif study == "diaz":
        scores = item.startswith("Table 3")
        mine, what = ("cl_score[W1]", "CLscore by W1") if scores else ("accuracy", "A")
        theirs = {name: paper[7 if scores else 0] for name, paper in _DIAZ.items()}
    else:
        return "no numbers in the paper"
    rows = _metrics(study)
    rows = rows[(rows.metric == mine) & rows.learner.isin(theirs)].set_index("learner")
    rows = rows[~rows.index.duplicated(keep="last")]  # of several heads the last
    far = (rows["mean"] - pd.Series(theirs)).abs().dropna()
    worst = str(far.idxmax())
    return (
        f"{what} of {len(far)} rows: {(far <= 0.05).sum()} within 0.05, the largest "
        f"difference {far.max():.2f} ({worst}: {_with_half(rows.loc[worst], 3)}, "
        f"theirs {theirs[worst]:.3f})"
    )


def _table(study: str, name: str) -> pd.DataFrame:
    return pd.read_csv(HERE / study / f"{name}.csv.gz")


def _of_all(study: str) -> pd.DataFrame:
    rows = _table(study, "layers")
    return rows[
        rows.task_position.isna() & ~rows.learner.isin(["offline", "untrained"])
    ]


def _metrics(study: str) -> pd.DataFrame:
    rows = _table(study, "metrics")
    return rows[rows.feature.isna() & ~rows.learner.isin(["offline"])]


def _name(learner: str) -> str:
    return _NAMES.get(learner, learner if "-" in learner else learner.upper())


def _percent(at: pd.DataFrame, name: str) -> str:
    return f"{100 * at.value[name]:.1f}" if name in at.index else ""


def _points(at: pd.DataFrame, name: str) -> str:
    if name not in at.index or pd.isna(at.value[name]):
        return ""
    return _with_interval(
        *(100 * at.loc[name, key] for key in ("value", "low", "high"))
    )


def _with_half(row: pd.Series, digits: int, scale: float = 1) -> str:
    """Return a mean, and half of its 95 % interval over seeds where there are several."""
    mean, half = scale * row["mean"], scale * half_width(row["std"], int(row["seeds"]))
    return f"{mean:.{digits}f}" + ("" if pd.isna(half) else f" ± {half:.{digits}f}")


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:.1f}" if pd.isna(low) else f"{value:.1f} [{low:.1f}, {high:.1f}]"


KINDS: dict[str, Callable[..., Iterable[Sequence[str]]]] = {
    own.__name__: own
    for own in (
        *(
            layers,
            forgotten,
            causes,
            budgets,
            murata,
            chaudhry,
            variants,
            authors,
            settings,
        ),
        *(diaz, kemker, multimodal, scenarios, vandeven, cheap, checklist),
    )
}


def written(text: str) -> str:
    """Return a page with its tables made anew."""

    def table(block: re.Match[str]) -> str:
        head, *lines = (
            f"| {' | '.join(row)} |" for row in KINDS[block[2]](*block[3].split())
        )
        rule = "|" + "---|" * (head.count("|") - 1)
        return block[1] + "\n".join([head, rule, *lines]) + "\n" + block[5]

    return _BLOCK.sub(table, text)


def reduce_colors(path: Path) -> None:
    """Save a picture with 256 colors, near all of its own, in a third of the bytes."""
    with Image.open(path) as image:
        coverage = Image.Quantize.MAXCOVERAGE
        reduced = image.convert("RGB").quantize(256, coverage, kmeans=3)
        reduced.save(path, optimize=True, dpi=image.info["dpi"])


if __name__ == "__main__":
    texts = {page: page.read_text("utf-8") for page in PAGES}
    if "--check" in sys.argv:
        sys.exit(any(text != written(text) for text in texts.values()))
    for page, text in texts.items():
        page.write_text(written(text), "utf-8")
    pages = "".join(page.read_text("utf-8") for page in HERE.parent.glob("*.md"))
    pages += (
        HERE.parents[1].joinpath("README.md").read_text("utf-8").replace("docs/", "")
    )
    names = re.findall(r"\((found/([\w-]+)/(\w+)-?([\w-]*)\.png)\)", pages)
    for picture, study, kind, of in dict.fromkeys(names):
        if (HERE / study / "measurements.csv.gz").is_file():
            chosen = (
                {"learners" if kind == "causes" else "readouts": of.split("-")}
                if of
                else {}
            )
            figure = getattr(figures, kind)(HERE / study, **chosen)
            figure.savefig(HERE.parent / picture)
            reduce_colors(HERE.parent / picture)

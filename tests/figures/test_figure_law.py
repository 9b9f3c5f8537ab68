"""Every figure against its tables, whatever they lack: its marks, names, colors and captions."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.ticker import FixedLocator
from scipy.stats import t

from figures.appearance import learner_appearances
from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import draw_kinds
from probe.analysis.statements import STUCK
from probe.metrics.diaz_rodriguez import NAMES
from probe.tables.schemas import CONTROLS
from probe.tables.summary import summarize
from tests.figures import invented, papers, seen

LOOKS = learner_appearances([*papers.LEARNERS, *papers.SWEEP, *CONTROLS])
METHODS = {
    LOOKS[name].label
    for name in [
        *papers.LEARNERS,
        *papers.SWEEP,
    ]
} | {"ER"}
KNOWN = [
    "finetune",
    "cumulative",
    "ewc",
]
COLORS = {LOOKS[name].label: LOOKS[name].color.lower() for name in KNOWN}
PRINTED = {name: look.label for name, look in LOOKS.items()} | {
    "dead": "Dead units (%)",
    "rank": "Rank (% of values)",
    "cka.untrained": "CKA to untrained",
    "cka.offline": "CKA to joint",
    "alpha_all": "All sessions so far",
    "alpha_base": "Base set",
    "alpha_new": "Newest session",
    "omega_base": r"$\Omega_{\mathrm{base}}$",
    "omega_new": r"$\Omega_{\mathrm{new}}$ (accuracy)",
    "omega_all": r"$\Omega_{\mathrm{all}}$",
    **{criterion: letters for letters, criterion in NAMES.items()},
}
COSTS = "points its change accounts for"
NOTHING = (math.nan, math.nan)
FLAGGED = ("mine", "er10-uniform", "ER")
# Of these the numbers are compared without their intervals, which are not drawn or are
# those of a container of their own.
WITHOUT_BARS = ("answer", "causes", "layers", "matrix", "sessions", "fixed", "spider")


def marks(rows, panel="", line="", x="", scale=100):
    """Return the numbers that are to be drawn, with intervals: a row for each mark.

    panel, line, x: the columns with the names of each, or a text.
    """
    for name, column in {"panel": panel, "line": line, "x": x}.items():
        names = rows[column].astype(str) if column in rows else column
        rows = rows.assign(**{f"its {name}": names}).replace({f"its {name}": PRINTED})
    keys = ["its panel", "its line", "its x"]
    if "seed" in rows:
        by_seed = rows.groupby([*keys, "seed"])["value"].mean().groupby(keys)
        rows = by_seed.agg(mean="mean", std="std", seeds="count").reset_index()
    if "low" not in rows:
        of_seeds = t.ppf(0.975, rows["seeds"] - 1) / rows["seeds"] ** 0.5
        half = rows["std"] * of_seeds
        ends = {"low": rows["mean"] - half, "high": rows["mean"] + half}
        rows = rows.assign(value=rows["mean"], **ends)
    numbers = scale * rows.groupby(keys)[["value", "low", "high"]].mean()
    if scale == 100:
        numbers[["low", "high"]] = numbers[["low", "high"]].clip(0, 100)
    return numbers.reset_index()


def at_layers(tables, *readouts):
    """Return accuracies on all tasks of learners and controls, and the line of each."""
    rows = tables.layers[tables.layers["task_position"].isna()]
    rows = rows[rows["readout"].isin(readouts)]
    controls = {"ceiling": "offline", "floor": "untrained"}
    line = rows["quantity"].map(controls).fillna(rows["learner"])
    return rows.assign(line=line)[rows["quantity"].isin(["accuracy", *controls])]


def by_amount(tables, **amounts):
    rows = at_layers(tables, *amounts).query("feature != 'output'")
    rows = rows.replace({"readout": amounts})
    return marks(
        rows,
        "feature",
        "line",
        "readout",
    )


def of_depth(tables):
    rows = at_layers(tables, "retrain")
    is_control = rows["quantity"] != "accuracy"
    rows.loc[is_control, ["low", "high"]] = math.nan
    return marks(
        rows,
        "",
        "line",
        "feature",
    )


def of_diagnostics(tables):
    rows = tables.diagnostics.query("metric != 'units'")
    of_units = rows["value"].where(rows["metric"] != "rank", rows["value"] / 8)
    rows = rows.assign(value=of_units)
    is_similarity = rows["metric"].str.startswith("cka")
    of_cka = marks(rows[is_similarity], "metric", "learner", "feature", scale=1)
    return pd.concat(
        [of_cka, marks(rows[~is_similarity], "metric", "learner", "feature")]
    )


def scores(tables, pattern):
    """Return the metrics that a pattern matches, by its group."""
    names = tables.metrics["metric"].str.extract(rf"^{pattern}$")
    return tables.metrics.assign(**names).dropna(subset=[*names])


def of_courses(tables, pattern):
    rows = scores(tables, pattern)
    panel = "metric" if "alpha" in pattern else ""
    return marks(
        rows,
        panel,
        "learner",
        "k",
    )


def of_accuracies(tables):
    rows = tables.measurements.query("feature == '' and learner != 'offline'")
    rows = rows[rows["metric"] == "accuracy"]
    seen_before = rows["tasks_seen"].astype(str).replace("0", "before")
    cell = seen_before + "/" + rows["task_position"].astype(str)
    return marks(rows.assign(cell=cell), "learner", "", "cell").round({"value": 0})


def of_bias(tables):
    """A single order cannot tell whether a task is hard, or was learned early."""
    rows = tables.summary.query("metric == 'f1' and learner != 'offline'")
    task = "t" * is_one_order(tables) + rows["task_position"].astype(str)
    return marks(
        rows.assign(task=task),
        "feature",
        "learner",
        "task",
    )


def is_one_order(tables):
    return tables.measurements["order"].nunique() == 2  # with that of the controls


def of_time(tables):
    rows = tables.measurements.query(
        "metric == 'accuracy' and task_position <= tasks_seen and learner != 'offline'"
    )
    rows = rows.replace({"feature": {"": "output"}})
    return marks(
        rows,
        "learner",
        "feature",
        "tasks_seen",
    )


def of_layers(tables):
    rows = tables.layers.query(
        "quantity == 'missing' and readout in ['retrain', 'linear']"
    )
    place = rows["task_position"].astype("string").fillna("all")
    panel = rows["learner"].replace(PRINTED) + ", " + rows["readout"]
    rows = rows.assign(panel=panel, cell=rows["feature"] + "/" + place)
    drawn = marks(
        rows,
        "panel",
        "",
        "cell",
    )
    decimals = drawn["value"].abs() < 9.95
    return drawn.assign(
        value=drawn["value"].round(1).where(decimals, drawn["value"].round())
    )


def of_sweep(tables, line, x):
    rows = scores(tables, r"(?P<metric>average_accuracy)\[3\]")
    rows = rows.merge(tables.learners, on="learner").dropna(subset="per_class")
    size = rows["per_class"].astype(str)
    rows["rule"] = rows["sampling"].str.capitalize()
    rows["sweep"] = "ER, " + rows["sampling"]
    rows["group"] = "ER, " + size + " per class"
    return marks(rows, "", line, x)


def of_tradeoff(tables):
    forgetting = scores(tables, r"(?P<metric>forgetting)\[3\]").set_index("learner")
    rows = scores(tables, r"(?P<metric>intransigence)\[3\]")
    x = rows["learner"].map(forgetting["mean"]).round(6)
    return marks(
        rows.assign(x=x),
        "",
        "learner",
        "x",
        scale=1,
    )


def of_spider(tables):
    rows = tables.metrics[tables.metrics["metric"].isin(NAMES.values())]
    bounds = rows["learner"].isin(["finetune", "cumulative"])
    drawn = [marks(rows, "All methods", "learner", "metric", scale=1)]
    for name in rows["learner"][~bounds].unique():
        few = rows[bounds | (rows["learner"] == name)]
        drawn.append(marks(few, PRINTED[name], "learner", "metric", scale=1))
    return pd.concat(drawn)


def of_causes(tables, panel, line):
    rows = tables.causes[tables.causes["task_position"].isna()]
    rows = rows[rows["quantity"].isin(["attributed", "competition"])]
    rows = rows.assign(feature=rows["feature"].replace("", "new classes"))
    x = "feature" if panel else "learner"
    return marks(rows, panel, line, x)


EXPECTED = {
    "answer": lambda tables: of_causes(tables, "learner", COSTS),
    "causes": lambda tables: of_causes(tables, "", "feature"),
    "depth": of_depth,
    "layers": of_layers,
    "time": of_time,
    "bias": of_bias,
    "budget": lambda tables: by_amount(tables, **{"retrain": "1", "retrain@4": "4"}),
    "repair": lambda tables: by_amount(tables, **{"linear": "all", "linear:5": "5"}),
    "diagnostics": of_diagnostics,
    "matrix": of_accuracies,
    "sessions": lambda tables: of_courses(
        tables, r"(?P<metric>alpha_\w+)\[(?P<k>\d+)\]"
    ),
    "fixed": lambda tables: of_courses(
        tables, r"(?P<metric>fixed_accuracy)\[(?P<k>\d+)\]"
    ),
    "omegas": lambda tables: marks(
        scores(tables, r"(?P<metric>omega_[a-z]+)"),
        "",
        "metric",
        "learner",
        scale=1,
    ),
    "tradeoff": of_tradeoff,
    "memory": lambda tables: of_sweep(tables, "sweep", "per_class"),
    "sampling": lambda tables: of_sweep(tables, "rule", "group"),
    "spider": of_spider,
}


def ticks(axis):
    """Return the names along an axis by their places, None where they are numbers."""
    if isinstance(axis.get_major_locator(), FixedLocator):
        names = [label.get_text() for label in axis.get_ticklabels()]
        return dict(zip(axis.get_ticklocs(), names, strict=False))
    return None


def name_at(names, place):
    """Return the name nearest to a place, None if it is far away; a number is its own."""
    if names is None:
        return str(round(place, 6))
    nearest = min(names, key=lambda tick: abs(tick - place))
    return names[nearest] if abs(nearest - place) < 0.28 else None


def look(artist):
    """Return what tells the lines or bars of a figure apart."""
    if hasattr(artist, "get_facecolor"):
        return to_hex(artist.get_facecolor())
    return to_hex(artist.get_color()), str(artist.get_marker())


def named(figure):
    """Return the names in the legend by their looks."""
    names = {}
    for box in figure.legends:
        for key, text in zip(box.legend_handles, box.get_texts(), strict=True):
            names[look(key)] = text.get_text()
    return names


def ends(errorbar):
    """Return the low and high end of each point's bar; None without bars."""
    if errorbar is None or not errorbar.has_yerr:
        return None
    segments = errorbar.lines[2][-1].get_segments()
    return [tuple(bar[:, 1]) if len(bar) else NOTHING for bar in segments]


def of_bars(axes, bars):
    """Yield what bars show: artist, place, number and interval."""
    intervals = ends(bars.errorbar) or [NOTHING] * len(bars)
    for bar, interval in zip(bars, intervals, strict=True):
        if bars.orientation == "vertical":
            place = name_at(ticks(axes.xaxis), bar.get_x() + bar.get_width() / 2)
            yield bar, place, bar.get_height(), interval
        else:
            place = name_at(ticks(axes.yaxis), bar.get_y() + bar.get_height() / 2)
            yield bar, place, bar.get_width(), interval


def of_lines(axes):
    """Yield what lines and points show."""
    across = ticks(axes.xaxis)
    if axes.name == "polar":
        spokes = [text for text in axes.texts if hasattr(text, "xy")]
        across = {text.xy[0]: text.get_text() for text in spokes}
    intervals = {}
    for container in axes.containers:
        if not isinstance(container, BarContainer):
            intervals |= {cap: [] for cap in container.lines[1]}
            intervals[container.lines[0]] = ends(container)
    for line in axes.lines:
        if line.get_transform() == axes.transData:
            points = seen.points(line)
            bars = intervals.get(line)
            bars = [NOTHING] * len(points) if bars is None else bars
            is_open = axes.name != "polar"
            assert not is_open or (np.diff(points[:, 0]) >= 0).all()
            for (x, y), interval in zip(points, bars, strict=False):
                yield line, name_at(across, x), y, interval


def drawn(figure):
    """Return the marks of a figure: panel, line, place along x, number and interval."""
    names = named(figure)
    layers = ticks(figure.axes[0].yaxis)
    found = set()
    for axes in figure.axes:
        panel = re.split(r": |, \$", axes.get_title())[0]
        panel = panel.removesuffix(" (as\N{NO-BREAK SPACE}trained)")
        shown = list(of_lines(axes))
        for container in axes.containers:
            if isinstance(container, BarContainer):
                shown += of_bars(axes, container)
        for artist, place, number, interval in shown:
            is_named = look(artist) in names and panel != "Accuracy (%)"
            if is_named and place is not None:
                found.add((panel, names[look(artist)], place, number, *interval))
        if any(isinstance(mesh, QuadMesh) for mesh in axes.collections):
            for text in axes.texts:
                x, y = text.get_position()
                down = ticks(axes.yaxis)
                down = down if any(down.values()) else layers
                cell = f"{name_at(down, y)}/{name_at(ticks(axes.xaxis), x)}"
                found.add((panel, "", cell, float(text.get_text()), *NOTHING))
    return sorted(found)


def studied():
    """Return the study's tables; in layers.csv each line has numbers of its own."""
    rows = papers.tables().layers
    is_control = rows["quantity"].isin(["ceiling", "floor"])
    line = rows["readout"] + rows["feature"] + rows["learner"].mask(is_control, "")
    shift = pd.factorize(line)[0] / 1000
    shifted = {name: rows[name] - shift for name in ("value", "low", "high")}
    shifted["low"] -= 0.01
    return replace(papers.tables(), layers=rows.assign(**shifted))


def lacking(tables):
    """Return shuffled tables without a learner, a layer of another, a seed and an order."""

    def rest(rows):
        gone = rows["learner"] == "ewc"
        if "feature" in rows:
            gone |= (rows["learner"] == "mine") & (rows["feature"] == "conv2")
        if "seed" in rows:
            gone |= (rows["seed"] == 1) | (rows["order"] == "1")
        return rows[~gone].sample(frac=1, random_state=0)

    names = ("measurements", "metrics", "learners", "layers", "diagnostics", "causes")
    rows = {name: rest(getattr(tables, name)) for name in names}
    summary = summarize(rows["measurements"]).sample(frac=1, random_state=0)
    notes = invented.notes(*(invented.note(name, STUCK) for name in FLAGGED[:2]))
    return replace(tables, **rows, summary=summary, notes=notes)


@pytest.mark.parametrize("of", [lambda tables: tables, lacking], ids=["all", "lacking"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_is_what_the_tables_say(kind, of, monkeypatch):
    seen.without_layout(monkeypatch)
    tables = of(studied())
    figure, caption = draw_kinds([kind], tables, Options())[kind]
    expected = EXPECTED[kind](tables)
    expected = expected.sort_values([*expected.columns[:3]])
    if kind in WITHOUT_BARS:
        expected[["low", "high"]] = math.nan
    shown = drawn(figure)
    names = expected.iloc[:, :3].to_numpy().tolist()
    assert [list(mark[:3]) for mark in shown] == names
    numbers = expected.iloc[:, 3:].to_numpy(float)
    got = np.array([mark[3:] for mark in shown])
    assert got == pytest.approx(numbers, nan_ok=True)
    for key, name in named(figure).items():
        assert name not in COLORS or key[0] == COLORS[name], name
    listed = re.search(r"Methods?: ([^.]*)", caption)[1]
    methods = re.split(", | and ", listed)
    parts = {part for mark in shown for name in mark[:3] for part in name.split(", ")}
    assert {*methods} == parts & METHODS
    flagged = re.findall(r"Collapsed: (.*) \(", caption)
    in_notes = [name for name in methods if name in FLAGGED and len(tables.notes)]
    assert [*re.split(", | and ", "".join(flagged))] == (in_notes or [""])
    assert ("cannot be told apart" in caption) == is_one_order(tables)
    has_bars = np.isfinite(got[:, 1]).any()
    assert (
        bool(re.search(r"(and|seeds,|networks?,) 95 % interval", caption)) == has_bars
    )

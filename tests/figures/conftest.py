"""Invented tables of any shape, and what makes the text of a figure unfit for print."""

import math
from collections.abc import Callable
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from figures.style import house_style
from probe.tables.rows import LearnerRow, MetricRow, Row, TimeRow

SMALLEST_PRINT = 7
CRITERIA = ("accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt")


@pytest.fixture(scope="session")
def study() -> Callable[..., list[Row]]:
    """Invent the rows of a study: `study(learners, features, tasks=, orders=, seeds=, own=)`.

    own: the features of those learners that bring a network of their own.
    """
    return _rows


@pytest.fixture(scope="session")
def scored() -> Callable[..., list[MetricRow]]:
    """Invent a study's metrics: `scored(learners, tasks=, seeds=, head=, weightings=)`."""
    return _scored


@pytest.fixture(scope="session")
def timed() -> Callable[..., list[TimeRow]]:
    """Invent how long a study's tasks took: `timed(learners, tasks=, orders=, seeds=)`."""
    return _timed


@pytest.fixture(scope="session")
def storing() -> Callable[..., LearnerRow]:
    """Say what a learner stores: `storing(name, kind, per_class=, total=, sampling=)`."""
    return _storing


@pytest.fixture
def text_faults() -> Callable[[Figure], list[str]]:
    """Say which texts overlap, leave the canvas, cover a panel or are too small."""
    return _text_faults


@pytest.fixture
def hidden_data() -> Callable[[Figure], list[str]]:
    """Say which panels cut off a marker, a line or a bar."""
    return _hidden_data


def _rows(learners, features, *, tasks=5, orders=2, seeds=2, head="single", own=None) -> list[Row]:
    rng = np.random.default_rng(0)
    rows = []
    for learner in learners:
        alone = learner == "offline"
        has = (own or {}).get(learner, features)
        for seed in range(seeds):
            for order in range(1 if alone else orders):
                who = {
                    "scenario": "digits",
                    "network": "cnn3",
                    "learner": learner,
                    "order": "" if alone else str(order),
                    "seed": seed,
                }
                rows += _one_run(who, has, tasks, head, alone, rng)
    return rows


def _one_run(who, features, tasks, head, alone, rng) -> list[Row]:
    places = range(1, tasks + 1)
    task = {place: f"t{place}" for place in places}
    cells = [
        {"measure": "accuracy", "head": head, "step": step, "place": place, "task": task[place]}
        for step in ((0, tasks) if alone else range(tasks + 1))
        for place in places
    ]
    for depth, feature in list(enumerate(features, start=1))[-1 if alone else 0 :]:
        at = {"feature": feature, "depth": depth}
        cells.append({"measure": "pra", **at})
        cells += [{"measure": "f1", **at, "place": p, "task": task[p]} for p in places]
    return [Row(**who, **cell, value=float(rng.random())) for cell in cells]


def _scored(learners, *, tasks=5, seeds=3, head="single", weightings=("W1",)) -> list[MetricRow]:
    rng = np.random.default_rng(0)
    names = [("diaz_rodriguez", name) for name in CRITERIA]
    for kind in ("cl_score", "cl_stability"):
        names += [("diaz_rodriguez", f"{kind}[{weights}]") for weights in weightings]
    for k in range(1, tasks + 1):
        names += [("chaudhry", f"average_accuracy[{k}]"), ("chaudhry", f"intransigence[{k}]")]
    names += [("chaudhry", f"forgetting[{k}]") for k in range(2, tasks + 1)]
    for what in ("base", "new", "all"):
        names += [("kemker", f"alpha_{what}[{i}]") for i in range(1, tasks + 1)]
        names += [("kemker", f"omega_{what}")]
    names += [("kemker", "model_size_mb")]
    return [
        MetricRow(
            learner=learner,
            paper=paper,
            metric=metric,
            head="" if metric in ("ms", "sss", "ce", "model_size_mb") else head,
            mean=float(rng.random()),
            std=0.1 * float(rng.random()) if seeds > 1 else math.nan,
            seeds=seeds,
        )
        for learner in learners
        for paper, metric in names
    ]


def _timed(learners, *, tasks=5, orders=2, seeds=2) -> list[TimeRow]:
    rng = np.random.default_rng(0)
    return [
        TimeRow(learner=name, order=str(order), seed=seed, step=k, seconds=float(rng.uniform(1, 9)))
        for name in learners
        for seed in range(seeds)
        for order in range(orders)
        for k in range(1, tasks + 1)
    ]


def _storing(name, kind="", *, per_class=None, total=None, sampling="") -> LearnerRow:
    return LearnerRow(
        learner=name, kind=kind or name, per_class=per_class, total=total, sampling=sampling
    )


def _hidden_data(figure: Figure) -> list[str]:
    """Compare in pixels: lines across a panel and polar panels then need no rule of their own."""
    with house_style():
        figure.draw_without_rendering()
    faults = []
    for number, axes in enumerate(figure.axes, start=1):
        low, high = axes.bbox.min - 1, axes.bbox.max + 1
        drawn = [line.get_transform().transform(line.get_xydata()) for line in axes.lines]
        for bars in (c for c in axes.collections if isinstance(c, LineCollection)):
            drawn += [
                bars.get_transform().transform(bar) for bar in bars.get_segments() if len(bar)
            ]
        points = np.concatenate([*drawn, np.empty((0, 2))])
        points = points[np.isfinite(points).all(axis=1)]
        if ((points < low) | (points > high)).any():
            faults.append(f"panel {number} cuts off data")
    return faults


def _text_faults(figure: Figure) -> list[str]:
    texts = _drawn_texts(figure)
    boxes = np.array([text.get_window_extent().extents for text in texts])
    home = {id(text): axes for axes in figure.axes for text in axes.texts}
    faults = [f"{t.get_text()!r} is too small" for t in texts if t.get_fontsize() < SMALLEST_PRINT]
    faults += [
        f"{text.get_text()!r} leaves the canvas"
        for text, box in zip(texts, boxes, strict=True)
        if (box[:2] < 0).any() or (box[2:] > figure.bbox.size).any()
    ]
    faults += [
        f"{text.get_text()!r} covers a panel"
        for text, box in zip(texts, boxes, strict=True)
        for axes in figure.axes
        if home.get(id(text)) is not axes and _meet(box, axes.get_window_extent().extents)
    ]
    for a, b in zip(*np.nonzero(_meet(boxes[:, None], boxes[None])), strict=True):
        if a < b and _ink_meets(figure, texts[a], texts[b]):
            faults.append(f"{texts[a].get_text()!r} overlaps {texts[b].get_text()!r}")
    return faults


def _drawn_texts(figure: Figure) -> list[Text]:
    drawn = []
    paint = Text.draw

    def note(text, renderer):
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        paint(text, renderer)

    with patch.object(Text, "draw", note), house_style():
        figure.draw_without_rendering()
    return drawn


def _meet(a, b):
    return (a[..., :2] < b[..., 2:] - 0.5).all(-1) & (b[..., :2] < a[..., 2:] - 0.5).all(-1)


def _ink_meets(figure: Figure, *texts: Text) -> bool:
    """Upright texts that meet as boxes do; a slanted one is judged by its pixels."""
    if all(text.get_rotation() % 90 == 0 for text in texts):
        return True
    return any((a & b).any() for a, b in combinations([_ink(figure, t) for t in texts], 2))


def _ink(figure: Figure, text: Text):
    assert isinstance(figure.canvas, FigureCanvasAgg)
    width, height = (int(side) for side in figure.bbox.size)
    renderer = RendererAgg(width, height, figure.dpi)
    text.draw(renderer)
    return np.asarray(renderer.buffer_rgba())[..., 3] > 0

"""What is to be seen in a figure, and what makes it unfit for print."""

import re
from functools import cache, partial
from unittest.mock import patch

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.collections import LineCollection
from matplotlib.text import Text
from scipy.stats import t

from figures.appearance import learner_appearances
from figures.style import house_style

SMALLEST_PRINT = 7  # points


def color(learner):
    return learner_appearances([learner])[learner].color


def titled(figure):
    """Return the panels that have a title: no color bar has one."""
    return [axes for axes in figure.axes if axes.get_title()]


def titles(figure):
    return [axes.get_title() for axes in figure.axes]


def legend(figure):
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


def note(figure):
    """Return the title of a figure's legend, which says what points and bars are."""
    return figure.legends[0].get_title().get_text()


def tick_names(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def row_names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def points(drawn):
    """Return the (N, 2) points of a line, or of what was drawn with error bars."""
    line = drawn.lines[0] if hasattr(drawn, "lines") else drawn
    return np.asarray(line.get_xydata(), float)


def heights(drawn):
    return points(drawn)[:, 1].tolist()


def bars(drawn, *, x=False):
    segments = drawn.lines[2][0 if x or not drawn.has_xerr else 1].get_segments()
    return np.array([bar[:, 0 if x else 1] for bar in segments if len(bar)])


def spread(rows, scale=100):
    ends = [t.interval(0.95, r.seeds - 1, r.mean, r.std / r.seeds**0.5) for r in rows]
    if scale == 100:
        ends = np.clip(ends, 0, 1)
    return scale * np.asarray(ends)


def hidden_data(figure):
    """List the panels that cut off a marker, a line or a bar.

    In pixels: lines across a panel and polar panels then need no rule of their own. The
    figure has been drawn, as by `text_faults`.
    """
    faults = []
    for number, axes in enumerate(figure.axes, start=1):
        lines = [(line, line.get_xydata()) for line in axes.lines]
        bars = [c for c in axes.collections if isinstance(c, LineCollection)]
        lines += [
            (bar, ends) for bar in bars for ends in bar.get_segments() if len(ends)
        ]
        drawn = [line.get_transform().transform(ends) for line, ends in lines]
        at = np.concatenate([*drawn, np.empty((0, 2))])
        at = at[np.isfinite(at).all(axis=1)]
        if ((at < axes.bbox.min - 1) | (at > axes.bbox.max + 1)).any():
            faults.append(f"panel {number} cuts off data")
    return faults


def text_faults(figure):
    """List the texts that overlap, leave the canvas, cover a panel or are too small."""
    found = texts(figure)
    boxes = np.array([text.get_window_extent().extents for text in found])
    home = {id(text): axes for axes in figure.axes for text in axes.texts}
    faults, ink = [], cache(partial(_ink, figure))
    for text, box in zip(found, boxes, strict=True):
        said = repr(text.get_text())
        if text.get_fontsize() < SMALLEST_PRINT:
            faults.append(f"{said} is too small")
        if (box[:2] < 0).any() or (box[2:] > figure.bbox.size).any():
            faults.append(f"{said} leaves the canvas")
        others = [axes for axes in figure.axes if home.get(id(text)) is not axes]
        if any(_meet(box, axes.get_window_extent().extents) for axes in others):
            faults.append(f"{said} covers a panel")
    for a, b in zip(*np.nonzero(_meet(boxes[:, None], boxes[None])), strict=True):
        if a < b and _ink_meets(ink, found[a], found[b]):
            faults.append(f"{found[a].get_text()!r} overlaps {found[b].get_text()!r}")
    return faults


def texts(figure):
    drawn = []
    paint = Text.draw

    def noted(text, renderer):
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        paint(text, renderer)

    with patch.object(Text, "draw", noted), house_style():
        figure.draw_without_rendering()
    return drawn


def _meet(a, b):
    return (a[..., :2] < b[..., 2:] - 0.5).all(-1) & (
        b[..., :2] < a[..., 2:] - 0.5
    ).all(-1)


def _ink_meets(ink, *texts):
    """Upright texts that meet as boxes do; a slanted one is judged by its pixels."""
    if all(text.get_rotation() % 90 == 0 for text in texts):
        return True
    return np.logical_and(*map(ink, texts)).any()


def _ink(figure, text):
    renderer = RendererAgg(*(int(side) for side in figure.bbox.size), figure.dpi)
    text.draw(renderer)
    return np.asarray(renderer.buffer_rgba())[..., 3] > 0


def without_layout(monkeypatch):
    """Draw figures without laying them out, which takes most of the time."""
    monkeypatch.setattr("figures.page.Page.fit", lambda page, *_, **__: page.figure)
    monkeypatch.setattr("figures.layout.arrange", lambda figure: None)


def marks_stay_inside(page):
    """Check that no path leaves its picture; return the number of pictures."""
    pictures = re.findall(r'viewBox="0 0 (\d+)[^>]*>(.*?)</svg>', page, re.DOTALL)
    for width, marks in pictures:
        for path in re.findall(r' d="([^"]*)"', marks):
            places = re.findall(r"[MH](-?[\d.]+)", path)
            for place in places:
                assert 0 <= float(place) <= int(width)
    return len(pictures)

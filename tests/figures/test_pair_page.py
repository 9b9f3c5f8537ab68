"""The page of two networks: every number of the answer, every name as text, nothing fetched."""

import re
from collections import Counter
from html import escape, unescape

import pytest
import torch
from torch import nn

import probe
from tests.figures.seen import marks_stay_inside

X = torch.randn(80, 4, generator=torch.Generator().manual_seed(0))
EVIL = "</td></svg><script>alert(1)</script>$a$ \x1b[2J"


def network(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def compared(*, after=1, knows_new=1, has_new=True, **options):
    labels = [network(seed)(X).argmax(1) for seed in (0, after)]
    new = (X[:70], labels[knows_new][:70]) if has_new else None
    return probe.diff(network(0), network(after), (X, labels[0]), new, **options)


def page(diff, folder):
    diff.report(folder / "pair.html")
    return (folder / "pair.html").read_text("utf-8")


def counted_numbers(text):
    return Counter(re.findall(r"[-+]?\d[\d.]*", text))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"has_new": False},
        {"knows_new": 0},
        {"after": 0},
        {"score": "loss"},
        {"train": (-X, torch.arange(80) % 3)},
    ],
    ids=["new", "only old", "a fault", "unchanged", "loss", "train"],
)
def test_every_number_of_the_answer_is_on_the_first_screen_and_tables_are_whole(
    options, tmp_path
):
    diff = compared(**options)
    text = page(diff, tmp_path)
    screen = text[text.index("<h1>") : text.index("</section>")]
    words = unescape(re.sub("<[^>]*>", " ", screen))
    assert counted_numbers(str(diff.answer)) <= counted_numbers(words)
    if diff.answer.new:
        assert "80 old examples · 70 new examples" in unescape(text)
    for sentence in (diff.answer.changed, *diff.answer.meaning, *diff.answer.belief):
        assert sentence in words
    for name in ("remedies", "changes", "content", "causes"):
        rows = re.search(f"<summary>{name}</summary>.*?</details>", text, re.DOTALL)
        assert (rows[0].count("<tr>") - 1 if rows else 0) == len(getattr(diff, name))


def test_no_bar_leaves_its_picture(tmp_path):
    """A part does more harm, and another more good, than both blocks."""
    diff = compared(after=6)
    assert min(line.share.low for line in diff.answer.inside) < -0.15
    assert marks_stay_inside(page(diff, tmp_path)) > 3


def test_names_are_text_and_nothing_is_fetched_or_run(tmp_path):
    tags = {}
    for name in ("mine", EVIL):
        blocks = {name: "0.*", "rest": "2.*"}
        diff = compared(blocks=blocks, remedies={name: lambda before, after: before})
        text = page(diff, tmp_path)
        tags[name] = set(re.findall(r"<\w+", text))
        assert text.count(escape(name).replace("\x1b", r"\x1b")) >= 4
        assert not re.search(
            r"""(src|href|action)\s*=\s*["']?[^"'#]|url\((?!#)|\son\w+=""", text
        )
        assert "default-src 'none'" in text
    assert tags["mine"] == tags[EVIL]
    assert "<script" not in tags[EVIL]

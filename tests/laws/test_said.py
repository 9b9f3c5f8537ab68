"""What is said of a stored run and of pairs of networks stays as it is, on every screen and page.

Words, marks and whole numbers are the same, and decimals to one in their last place.
`python -m tests.laws.test_said` prints what has changed, and stores what is said today.
"""

import difflib
import json
import lzma
import re
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock

import numpy as np
import pytest
from matplotlib.text import Text

import probe
from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import draw_kinds
from probe.results.run_directory import read_plan
from probe.results.tables import write_tables
from scenarios.commands.main import main
from tests.figures import papers, seen
from tests.figures.test_pair_page import compared, page
from tests.probe.results.test_doubts import computed

FOLDER = Path(__file__).with_name("said")
STORED = FOLDER / "said.json.xz"
DECIMAL = re.compile(r"-?\d+\.(\d+)")
# Not of this page: scripts, styles, and pictures of matplotlib.
APART = re.compile(r"<(script|style)\b.*?</\1>|<svg[^>]*xlink.*?</svg>", re.DOTALL)
PRINTED, ARRIVING = (
    (FOLDER / f"{name}.txt").read_text().splitlines()
    for name in ("printed", "arriving")
)
# Functions that commands call last, of which only the arguments are looked at.
LAST = [
    "scenarios.commands.run.run_plan",
    "scenarios.commands.model.run_plan",
    "scenarios.commands.figures.build_asked",
    "scenarios.commands.demo.show_demo",
    "scenarios.commands.redundancy.show_redundancy",
    "scenarios.data.image_features.write_features_of_images",
    "scenarios.data.cub200.prepare_cub200",
    "scenarios.data.audioset.prepare_audioset",
]
# Of a folder of another framework or a recorder; or compared by tests of their own.
ELSEWHERE = {
    "metrics": {"--from"},
    "model": {"--from", "--network"},
    "layers": {"--output", "--integers"},
}
MINE = """
from torch import nn
net = other = nn.Linear
data = call = load = print
"""
PAIRS = {
    "with new": {},
    "only old": {"has_new": False},
    "unchanged": {"after": 0},
    "loss": {"score": "loss"},
}


R = np.array([[0.3, 0.2, 0.4], [0.9, 0.3, 0.5], [0.6, 0.8, 0.4], [0.5, 0.7, 0.9]])


def narrowed(root):
    """Write a run beside another: its first seed and order, without a learner."""
    fewer = root.with_name("fewer")
    shutil.copytree(root, fewer)
    stored = json.loads((fewer / "study.json").read_bytes())
    plan = stored["plan"]
    plan["name"] = "fewer"
    plan["seeds"] = plan["seeds"][:1]
    del plan["learners"]["er"]
    (fewer / "study.json").write_text(json.dumps(stored))
    write_tables(read_plan(fewer), fewer)


def printed(line, patch):
    """Return what a command prints, and what it refuses."""
    text = StringIO()
    patch.setattr("sys.argv", ["probe", *line.split()])
    with redirect_stdout(text), redirect_stderr(text), pytest.raises(SystemExit):
        main()
    return text.getvalue()


def arriving(line):
    """Return what a command passes on."""
    with pytest.MonkeyPatch.context() as patch:
        last = Mock(return_value=())
        for name in LAST:
            patch.setattr(name, last)
        refused = printed(line, patch)
    passed = re.sub(" at 0x[0-9a-f]+|[0-9a-f]{64}", "", str(last.call_args))
    return passed.replace(", ", ",\n") + refused


def tags(text):
    """Return a page with a line for each tag and text."""
    text = APART.sub("", re.sub(r"\n\s*", "", text))
    return re.sub(r"(?<=>)|(?=<)", "\n", text)


def of_commands(patch):
    """Return what commands print and pass on, and the files that they write."""
    for name, factor in (("R", 1), ("percent", 100), ("joint", 0.9)):
        np.savetxt(f"{name}.csv", factor * R, delimiter=",")
    costs = Path("run/costs.csv").read_text().splitlines()
    Path("costs.csv").write_text("\n".join(costs[: len(R)]))
    Path("mine.py").write_text(MINE)
    Path("c").mkdir()
    for name in ("a-0-1", "a-0-2", "b-0-1", "b-0-2", "joint-0"):
        Path(f"c/{name}.pt").touch()
    texts = {line: printed(line, patch) for line in PRINTED}
    texts |= {line: arriving(line) for line in ARRIVING}
    for name in ("a.toml", "b.toml", "c.toml", "mynets.py", "both.md", "fel.json"):
        texts[name] = Path(name).read_text()
    texts["both.html"] = tags(Path("both.html").read_text())
    return texts


def of_results():
    """Return results of runs as texts, and figures with their captions."""
    texts = {}
    figures = draw_kinds([*KINDS], papers.tables(), Options())
    for name in ("run", "fewer"):
        analysis = probe.load(name)
        parts = [str(analysis), *analysis.remarks(), analysis.latex()]
        texts[name] = "\n".join([*parts, analysis.to_markdown()])
        for kind, drawn in draw_kinds([], Path(name), Options()).items():
            figures[f"{kind} of {name}"] = drawn
    for name, (figure, caption) in figures.items():
        texts[name] = "\n".join([*words(figure), caption])
    return texts


def of_pairs():
    """Return what comparisons of two networks say, on the screen and on their pages."""
    texts = {}
    for name, options in PAIRS.items():
        diff = compared(**options)
        parts = [str(diff), diff.inside("0").round(3).to_csv()]
        parts.append(tags(page(diff, Path())))
        texts[name] = "\n".join([*parts, *words(diff.plot().figure)])
    return texts


def words(figure):
    """Return the texts of a figure, sorted."""
    return sorted(text.get_text() for text in figure.findobj(Text) if text.get_text())


def said(folder, patch):
    """Return the lines of what is said, by where."""
    seen.without_layout(patch)
    patch.delenv("PROBE_DATA", raising=False)
    patch.setenv("COLUMNS", "80")
    with chdir(folder):
        narrowed(computed(Path(), patch))
        texts = of_commands(patch) | of_results() | of_pairs()
    return {name: text.splitlines() for name, text in texts.items()}


def stored():
    return json.loads(lzma.decompress(STORED.read_bytes()))


@pytest.fixture(scope="module")
def today(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield said(tmp_path_factory.mktemp("said"), patch)


@pytest.mark.parametrize("where", stored())
def test_what_is_said_stays(today, where):
    for line, as_it_was in zip(today[where], stored()[where], strict=True):
        assert DECIMAL.sub("", line) == DECIMAL.sub("", as_it_was)
        for number, other in zip(
            DECIMAL.finditer(line), DECIMAL.finditer(as_it_was), strict=True
        ):
            assert len(number[1]) == len(other[1])
            last_place = 1.01 * 10 ** -len(other[1])
            assert float(number[0]) == pytest.approx(float(other[0]), abs=last_place)


@pytest.mark.parametrize(
    "command", [line.removesuffix(" --help") for line in PRINTED if "--help" in line]
)
def test_every_flag_is_typed(command):
    """But for `diff`, all of whose flags are compared with calls in another test."""
    if command == "diff":
        return
    shown = "\n".join(stored()[f"{command} --help"])
    lines = [line for line in PRINTED + ARRIVING if line.startswith(f"{command} ")]
    flags = set(re.findall(r"[ *] ?(--[a-z-]+)", shown)) - ELSEWHERE.get(command, set())
    assert flags <= set(re.findall(r"--[a-z-]+", " ".join(lines)))


if __name__ == "__main__":
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        new = said(Path(folder), patch)
    old = stored()
    for name, lines in new.items():
        changes = difflib.unified_diff(old.get(name, []), lines, name, n=0, lineterm="")
        print(*changes, sep="\n")
    STORED.write_bytes(lzma.compress(json.dumps(new).encode(), preset=9))

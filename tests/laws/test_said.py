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
from functools import cache, partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from torch import nn

import probe
from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import draw_kinds
from probe.by_layer.jobs import jobs_of, keys_of
from probe.errors import InputError
from probe.files import sha256
from probe.results.run_directory import read_plan, store_of
from probe.results.tables import write_tables
from scenarios.commands.main import main
from scenarios.commands.screen.results import show_outcome
from tests.figures import invented, papers, seen
from tests.figures.test_pair_page import X, compared, page
from tests.probe.results.test_doubts import computed

FOLDER = Path(__file__).with_name("said")
STORED = FOLDER / "said.json.xz"
DECIMAL = re.compile(r"-?\d+\.(\d+)")
# Not of this page: scripts, styles, and but for their texts pictures of matplotlib.
APART = re.compile(r"<(script|style)\b.*?</\1>|<svg[^>]*xlink.*?</svg>", re.DOTALL)
# Some hosts of tests have colors without a terminal.
COLOR = re.compile(r"\x1b\[[0-9;]*m")
# Places in memory, and hashes.
OF_TODAY = re.compile(" at 0x[0-9a-f]+|[0-9a-f]{8,64}")
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
OURS = """
import probe
import torch
from torch import nn

@probe.network("ours", features=["1"])
def net():
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))

@probe.readout("ours")
class Ours:
    label: int = 1

    def predict(self, x, y, test, classes):
        return torch.full((len(test),), self.label)

@probe.metric("worst")
def worst(R):
    return float(R.values[-1].min())

@probe.data("ours")
def data():
    return 2 * [(torch.eye(4).repeat(9, 1)[:9], torch.arange(9) % 3)]

def other():
    return 2 * [(torch.eye(4).repeat(9, 1)[:12], torch.arange(12) % 3)]

def call(model, x):
    return (x, model(x))

class Two(nn.Embedding):
    def forward(self, x):
        return x, super().forward(x).mean(1)

two = Two(9, 3)
load = torch.load
"""
R = np.array([[0.3, 0.2, 0.4], [0.9, 0.3, 0.5], [0.6, 0.8, 0.4], [0.5, 0.7, 0.9]])
PAIRS = {
    "with new": {},
    "only old": {"has_new": False},
    "a fault": {"knows_new": 0},
    "a part": {"after": 6},
    "train": {"train": (-X, torch.arange(80) % 3)},
    "unchanged": {"after": 0},
    "loss": {"score": "loss"},
}


def narrowed(root):
    """Write a run beside another: its first seed and order, without a learner."""
    fewer = root.with_name("fewer")
    shutil.copytree(root, fewer)
    stored = json.loads((fewer / "study.json").read_bytes())
    plan = stored["plan"]
    plan |= {"name": "fewer", "next": "probe run fewer --seeds 3"}
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
    return COLOR.sub("", text.getvalue())


def arriving(line):
    """Return what a command passes on, the plan that is made of it, and what its keys hash."""
    passed = []

    def hashed(text):
        passed.append(text)
        return sha256(text)

    def last(*arguments, **named):
        passed.append((arguments, named))
        if isinstance(arguments[0], partial):
            try:
                source, _, sizes = arguments[0](torch.device("cpu"))
            except InputError as refused:
                passed.append(refused)
                return ()
            passed.append((source.plan, sizes))
            for job in jobs_of(source.plan):
                passed.append(store_of(source.plan, Path(), job).folder)
                keys_of(source.plan, job)
        return ()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("probe.by_layer.fingerprint.sha256", hashed)
        for name in LAST:
            patch.setattr(name, last)
        passed.append(printed(line, patch))
    text = "\n".join(dict.fromkeys(map(str, passed)))
    for of_today in (torch.__version__, str(Path.cwd())):
        text = text.replace(of_today, "")
    return OF_TODAY.sub("", text).replace(", ", ",\n")


def texts_of(picture):
    return "\n".join(re.findall(">([^<>]*)</text>", picture[0]))


def tags(text):
    """Return a page with a line for each tag and text."""
    text = APART.sub(texts_of, re.sub(r"\n\s*", "", text))
    return re.sub(r"(?<=>)|(?=<)", "\n", text)


def of_commands(patch):
    """Return what commands print and pass on, and the files that they write."""
    matrices = {"R": R, "percent": 100 * R, "joint": 0.9 * R, "learned": R[1:]}
    for name, matrix in matrices.items():
        np.savetxt(f"{name}.csv", matrix, delimiter=",")
    costs = Path("run/costs.csv").read_text().splitlines()
    Path("costs.csv").write_text("\n".join(costs[: len(R)]))
    Path("ours.py").write_text(OURS)
    for study in FOLDER.glob("*.toml"):
        # As Notepad writes it.
        Path(study.name).write_text(study.read_text(), "utf-8-sig")
    Path("c").mkdir()
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    for number, name in enumerate(("a-0-1", "a-0-2", "b-0-1", "b-0-2", "joint-0"), 2):
        for values in net.parameters():
            values.data = torch.arange(1.0 * values.numel()).view_as(values) % number
        torch.save(net.state_dict(), f"c/{name}.pt")
    data = torch.eye(4).repeat(3, 1), torch.arange(12) % 3
    tasks = [[0], [1, 2]]
    recorder = probe.Recorder("record", net, data, tasks, train=data, head="single")
    for task in (1, 2):
        recorder.after_task(task)
        net[0].bias.data += task
    texts = {line: printed(line, patch) for line in PRINTED}
    texts |= {line: arriving(line) for line in ARRIVING}
    for name in ("a.toml", "b.toml", "c.toml", "mynets.py", "both.md", "fel.JSON"):
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
        screen = StringIO()
        with redirect_stdout(screen):
            show_outcome(Path(name), omegas=True, tables=True)
        texts[f"outcome of {name}"] = COLOR.sub("", screen.getvalue())
        for kind, drawn in draw_kinds([], Path(name), Options()).items():
            figures[f"{kind} of {name}"] = drawn
    chosen = Options(
        learners=["mine", "ewc"],
        labels={"mine": "Ours"},
        colors={"ewc": "black"},
        cmap="magma",
        title=False,
        readouts=["linear"],
        width=5,
        font_size=9,
    )
    many = [f"mine-{k}" for k in range(8)]
    deep = [*(f"conv{k}" for k in range(1, 9)), "output"]
    for name, tables, options in (
        ("chosen", papers.tables(), chosen),
        ("of many", invented.study([*many, "ewc-paper"], ["conv1"]), Options()),
        ("of a deep network", invented.study(["ewc-paper"], deep), Options()),
    ):
        for kind in KINDS:
            try:
                drawn = draw_kinds([kind], tables, options)[kind]
            except InputError as refused:
                texts[f"{kind} {name}"] = str(refused)
            else:
                figures[f"{kind} {name}"] = drawn
    for name, (figure, caption) in figures.items():
        texts[name] = "\n".join([*contents(figure), caption])
    return texts


def of_pairs():
    """Return what comparisons of two networks say, on the screen and on their pages."""
    texts = {}
    for name, options in PAIRS.items():
        diff = compared(**options)
        parts = [str(diff), diff.inside("0").round(3).to_csv()]
        parts.append(tags(page(diff, Path())))
        texts[name] = "\n".join([*parts, *contents(diff.plot().figure)])
    return texts


def contents(figure):
    """Return a figure's texts with weights, its size, and where its lines, bars and points are."""
    texts = [
        f"{text.get_text()} {text.get_weight()}"
        for text in figure.findobj(Text)
        if text.get_text()
    ]
    places = [figure.get_size_inches()]
    for axes in figure.axes:
        for line in axes.lines:
            places += [line.get_xydata(), to_rgb(line.get_color())]
        for patch in axes.patches:
            places.append(patch.get_facecolor())
            corners = patch.get_path().vertices
            places.append(patch.get_patch_transform().transform(corners))
        for marks in axes.collections:
            places += [marks.get_offsets(), *getattr(marks, "get_segments", list)()]
    return [*sorted(texts), *(str(np.round(place, 3).tolist()) for place in places)]


def said(folder, patch):
    """Return the lines of what is said, by where."""
    seen.without_layout(patch)
    patch.delenv("PROBE_DATA", raising=False)
    patch.setenv("COLUMNS", "80")
    with chdir(folder):
        narrowed(computed(Path(), patch))
        texts = of_commands(patch) | of_results() | of_pairs()
    return {name: text.splitlines() for name, text in texts.items()}


@cache
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


def test_every_flag_is_typed():
    """But for `diff`, all of whose flags are compared with calls in another test."""
    for name, shown in stored().items():
        command = name.removesuffix(" --help")
        if command in (name, "diff"):
            continue
        lines = [line for line in PRINTED + ARRIVING if line.startswith(f"{command} ")]
        flags = set(re.findall(r"[ *] ?(--[a-z-]+)", "\n".join(shown)))
        assert flags <= set(re.findall(r"--[a-z-]+", " ".join(lines))), command


if __name__ == "__main__":
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        new = said(Path(folder), patch)
    old = stored()
    for name, lines in new.items():
        changes = difflib.unified_diff(old.get(name, []), lines, name, n=0, lineterm="")
        print(*changes, sep="\n")
    STORED.write_bytes(lzma.compress(json.dumps(new).encode(), preset=9))

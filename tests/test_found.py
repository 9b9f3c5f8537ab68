"""The pages on our studies follow from the tables beside them."""

import csv
import importlib
import re
from contextlib import suppress
from functools import reduce
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import figures
from scenarios.commands import listing
from scenarios.study.study_file import check_study
from scenarios.study.study_toml import preset_names, read_study

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def writer(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "found"))
    return importlib.import_module("write")


def test_every_page_is_as_its_tables_say(writer):
    """And the pages are those of the studies, and every folder with tables has one."""
    assert writer.stale(writer.pages()) == []
    folders = {path.parent.name for path in DOCS.glob("found/*/*.csv.gz")}
    assert folders == set(writer.STUDIES)


def test_a_changed_cell_changes_the_page(writer, monkeypatch):
    """A number of claim 1, and the verdict that the study's own page shows."""
    rows = writer.tables.table("cifar10", "layers")
    cell = rows.task_position.isna() & (rows.quantity == "forgotten")
    for column, wanted in {
        "learner": "si",
        "readout": "linear",
        "feature": "hidden",
    }.items():
        cell &= rows[column] == wanted
    assert cell.sum() == 1
    rows.loc[cell, "value"] = 0.123

    def changed(study, name):
        is_changed = (study, name) == ("cifar10", "layers")
        return (
            rows if is_changed else pd.read_csv(DOCS / f"found/{study}/{name}.csv.gz")
        )

    for module in (writer, writer.tables, writer.published, writer.findings):
        monkeypatch.setattr(module, "table", changed)
    stale = [path.name for path in writer.stale(writer.pages())]
    assert stale == ["cifar10.md", "found.md"]


def test_a_number_that_no_row_gives_is_refused(writer):
    """As are two rows; the table and the query are named."""
    for query, count in {"learner=nobody": 0, "learner=si,readout=linear": 40}.items():
        with pytest.raises(ValueError, match=f"cifar10/layers fit {query}") as refusal:
            writer.value("cifar10", "layers", query, "points")
        assert (count == 0) == str(refusal.value).startswith("0 rows")


def test_a_row_agrees_only_if_all_its_columns_do(writer):
    """Chaudhry's single-head accuracies agree in part, with F and I no row does."""
    pairs = writer.published.pairs("chaudhry-single")
    own = pairs[pairs.setting == "own"]
    assert own[own.metric == "average_accuracy[5]"].near.any()
    (count, _) = writer.published.within("chaudhry-single").to_dict("records")
    assert count == {"setting": "own", "rows": 9, "within": 0}
    by_hand = own.groupby("learner").near.sum() == 3
    assert by_hand.sum() == count["within"]


@pytest.fixture
def ends(writer):
    """Return value and ends of a row of a study's table."""

    def read(study, name, query):
        numbers = {}
        for end in ("value", "low", "high"):
            numbers[end] = float(writer.value(study, name, query, end))
        return SimpleNamespace(**numbers)

    return read


def test_what_claims_say_of_layers_holds_in_the_tables(ends):
    """Claims 1 and 3 to 6: their words follow from intervals."""

    def layer(study, learner, feature, quantity, position=""):
        query = (
            f"learner={learner},readout=linear,feature={feature},quantity={quantity}"
        )
        return ends(study, "layers", query + position)

    finetune = layer("digits-four", "finetune", "output", "forgotten")
    si = layer("digits-four", "si", "output", "forgotten")
    assert finetune.low < si.value < finetune.high
    finetune = layer("digits-four", "finetune", "conv3", "forgotten")
    si = layer("digits-four", "si", "conv3", "forgotten")
    assert finetune.low > si.high
    first, fourth = (
        layer("digits-four", "finetune", "conv3", "never_learned", position)
        for position in (",task_position=1.0", ",task_position=4.0")
    )
    assert fourth.low > first.high
    assert layer("replay-gap", "finetune", "hidden2", "acquired").low < 0
    assert layer("claims", "finetune", "conv3", "forgotten").low > 0
    for learner in ("finetune", "er-2", "er-20", "er-200"):
        assert layer("replay-gap", learner, "hidden2", "forgotten").low < 0
    si = layer("cifar10", "si", "hidden", "never_learned")
    for learner in ("er", "gem"):
        assert si.low > layer("cifar10", learner, "hidden", "never_learned").high


@pytest.mark.parametrize("study", ["mnist", "mnist-full", "digits-four", "cifar10"])
def test_what_claims_say_of_causes_holds_in_the_tables(ends, study):
    """Claims 2, 7 and 8."""

    def change(learner, layer, quantity, position=""):
        query = f"learner={learner},score=accuracy,feature={layer},quantity={quantity}"
        return ends(study, "causes", query + position)

    query = "learner=er,readout=linear,feature=conv3,quantity=forgotten"
    assert ends(study, "layers", query).high < 0.01
    assert change("er", "conv3", "broken").low > 0.01
    repair = change("er", "conv3", "restored")
    assert repair.high < 0 if study == "cifar10" else repair.low > 0.01
    if study.startswith("mnist"):
        assert change("er", "output", "restored").high < 0
        assert change("er", "output", "broken").low > 0
    if study == "cifar10":
        return
    first, fourth = ",task_position=1.0", ",task_position=4.0"
    for below, above, position in (
        ("conv3", "output", first),
        ("output", "conv3", fourth),
    ):
        less = change("finetune", below, "attributed", position)
        assert less.high < change("finetune", above, "attributed", position).low


def test_what_claim_9_says_of_cheap_measures_holds(writer):
    rows = writer.findings.correlations("cheap").set_index(["costly", "cheap"])
    assert rows.low["missing (retraining)"].min() > 0.5
    assert rows.low["forgotten (linear)"].max() < 0.5
    rows = writer.findings.methods("cheap").set_index("learner")
    assert rows.low[["finetune", "lwf"]].min() > 0.5
    assert rows.high["er"] < -0.5


@pytest.mark.parametrize("digit", range(10))
def test_inc_x_learns_all_digits_but_x_and_then_x(digit):
    """Kemker 2018's table S6, in the order of the paper."""
    path = str(DOCS / "found/kemker-inc/study.toml")
    study = check_study(read_study(path, str(digit) if digit else None), path)
    others = [label for label in range(10) if label != digit]
    assert study.name == f"kemker-inc-{digit}"
    assert study.scenario.tasks == (tuple(others), (digit,))


def test_a_share_of_the_images_comes_last_class_by_class(monkeypatch):
    """Our reading of Kemker 2018's table S7; a share of 0 or 1 has no empty session."""
    monkeypatch.syspath_prepend(str(DOCS / "found/kemker-fel"))
    sessions = importlib.import_module("make_shares").sessions
    y = np.arange(60) % 2
    tasks = sessions(y, 0.5, seed=0)
    assert sum(tasks == 0) == 30
    assert set(y[tasks == 0]) == {0, 1}
    assert (tasks == 1 + y)[tasks > 0].all()
    assert (sessions(y, 0, seed=0) == 0).all()
    assert (sessions(y, 1, seed=0) == y).all()


def test_what_is_said_of_geppnet_holds_in_the_tables(writer):
    """Seven switches bring both columns nearer to the paper; the nearest moves GeppNet away."""

    def ends(cell):
        return [float(end) for end in re.findall(r"[\[ ](-?[\d.]+)(?=[,\]])", cell)]

    rows = writer.findings.switches("kemker-inc").set_index("switch")
    changes = rows[["new class, change", "overall, change"]]
    settings = changes[changes["overall, change"] != ""].drop(["default", "GeppNet"])
    settings = settings[~settings.index.str.startswith("GeppNet")]
    assert len(settings) == 14
    highs = settings.map(lambda cell: ends(cell)[1])
    assert (highs <= 0).all(axis=1).sum() == 7
    assert highs["new class, change"].idxmin() == "threshold 0"
    for cell in changes.loc["GeppNet, threshold 0"]:
        assert ends(cell)[0] > 0


def test_what_is_said_of_fel_holds_in_the_tables(writer):
    """The nearest setting, and what comes within 10 points of the paper's last row."""
    rows = writer.findings.shares("kemker-fel").set_index("switch")
    numbers = rows[["25", "50", "75", "100"]].astype(float)
    off = numbers.drop("paper") - numbers.loc["paper"]
    distances = rows["distance"].drop("paper").str.split().str[0].astype(float)
    assert len(distances) == 14
    assert distances.idxmin() == "dense layer untrained, Adam's state kept"
    assert distances.min() < 0.55 * distances["default"]
    near = off[off["100"].abs() < 10]
    few = "dense layer untrained, {} of the images"
    assert list(near.index) == [few.format("half"), few.format("a quarter")]
    assert (near[["25", "50", "75"]] > 15).all(axis=None)


def test_prose_by_hand_is_short(writer):
    """80 words a study; 1,400 on the page of claims, without its list and bars of tables."""
    for study, text in writer.STUDIES.items():
        words = " ".join(
            text.get(key, "") for key in ("question", "differences", "notes")
        )
        assert len(words.split()) <= 80, study
    page = (DOCS / "found.md").read_text("utf-8")
    page = re.sub(
        r"<!-- studies -->.*?<!-- end -->|<!--.*?-->", "", page, flags=re.DOTALL
    )
    assert len(page.replace("|", " ").split()) <= 1400
    assert len(re.findall(r"^### \d+\. ", page, re.MULTILINE)) == 10


def resolved(name):
    """Return the object of a dotted name, from its module on."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        with suppress(ImportError):
            module = importlib.import_module(".".join(parts[:end]))
            return reduce(getattr, parts[end:], module)
    raise AssertionError(name)


def checklist():
    """The items of the checklist."""
    lines = (DOCS / "found/checklist.csv").read_text("utf-8").splitlines()
    return csv.DictReader(lines)


def checked_commands():
    """Yield the commands of the checklist and those of the studies."""
    for row in checklist():
        yield from filter(None, row["command"].split("; "))
    studies = (DOCS / "found/studies.toml").read_text("utf-8")
    yield from re.findall(r'^command = "(.*)"', studies, re.MULTILINE)


def test_every_command_is_one():
    """Presets, study files, kinds of figures, names of Python."""
    for command in checked_commands():
        preset = re.match(r"probe run ([\w./-]+)", command)
        if preset and preset[1].endswith(".toml"):
            assert (DOCS.parent / preset[1]).is_file(), command
        elif preset:
            assert preset[1] in {*preset_names(), "PRESET"}, command
        for kinds in re.findall(r"--only (\S+)", command):
            assert all(hasattr(figures, kind) for kind in kinds.split(",")), command
        if dotted := re.match(r"(probe|scenarios)(\.\w+)+", command):
            assert resolved(dotted[0]) is not None


def test_presets_are_listed_as_run_in_full_where_a_study_here_is_their_run(writer):
    """With `--data` at most: a variant or another data set is not the preset itself."""
    in_full = set()
    for study in writer.STUDIES.values():
        if plain := re.fullmatch(r"probe run (\S+)( --data DIR)?", study["command"]):
            in_full.add(plain[1])
    for preset in listing.names()["presets"]:
        is_marked = preset["about"].endswith("we have not run it in full")
        assert is_marked == (preset["name"] not in in_full), preset


def test_every_item_of_the_checklist_ran_or_says_why_not(writer):
    """What ran has a page; what has neither a page nor a command has a remark."""
    for row in checklist():
        assert bool(row["shipped"]) == (row["ran"] in ("full", "part")), row
        assert row["ran"] in ("", "full", "part", *writer.NEVER), row
        assert not row["shipped"] or row["shipped"] in writer.STUDIES, row
        assert row["command"] or row["remark"], row

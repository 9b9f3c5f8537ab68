"""The page: one file that asks nothing of a network, with every text escaped."""

import base64
import hashlib
import json
import re
from html import escape
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import pandas as pd
import pytest

from figures.lines import layer_appearances
from figures.report.page import report, write_report
from figures.report.questions import sections
from figures.report.views import Chart, ChartPoint
from probe.answers.study import answers
from probe.answers.text import with_ends
from probe.errors import InputError
from probe.extensions import spread_over
from probe.tables.schemas import CAUSE_VERDICTS
from probe.tables.table_file import all_tables, new_table, write_table
from tests.figures import invented, seen
from tests.figures.report.hand_made import (
    LAYERS,
    by_seed,
    causes,
    layer,
    layers,
    stated,
    tables,
    with_layers,
)

EVIL = "</script><img src=x onerror=alert(1)>"
MISSING = {"conv1": 0.0, "conv2": 0.3, "output": 0.6}
STATED = [stated("conv2", "yes", 0.3), stated("output", "yes", 0.6)]


class Page(HTMLParser):
    """All elements of a page, and the texts of styles and scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.raw = {"style": [], "script": []}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.cdata = tag

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] in self.raw and self.cdata:
            self.raw[self.elements[-1][0]].append(data)

    def handle_endtag(self, tag):
        self.cdata = ""


def study(**others):
    return tables(STATED, MISSING, **others)


def test_nothing_is_fetched_and_only_its_own_style_and_script_may_run():
    page = Page(report({"toy": study()}, {}))
    policy = (
        next(
            a["content"] for t, a in page.elements if "http-equiv" in a and t == "meta"
        )
        or ""
    )
    assert policy.startswith("default-src 'none'; ")
    data, script = page.raw["script"]
    for text in (page.raw["style"][0], script):
        assert (
            base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
        )
    assert len(script) < 15_000
    kept = json.loads(data)["toy"]["statements"]
    assert dict(zip(kept["columns"], kept["rows"][0], strict=True))["value"] == 0.3
    for tag, attributes in page.elements:
        assert not {"style", "src", "onclick"} & attributes.keys(), (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#")


def test_names_with_html_in_them_are_text():
    found = study()
    evil = {name: table.assign(learner=EVIL) for name, table in found.items()}
    text = report({EVIL: evil}, {})
    assert "<img" not in text
    elements = {tag for tag, _ in Page(text).elements}
    assert "img" not in elements
    assert sum(tag == "script" for tag, _ in Page(text).elements) == 2


def test_every_control_names_what_it_chooses_and_every_cell_says_its_number():
    page = Page(report({"a": study(), "b": study()}, {}))
    buttons = {(a["name"], a["value"]) for tag, a in page.elements if tag == "button"}
    assert buttons == {("run", ""), ("run", "a"), ("run", "b")}
    cells = [
        a.get("aria-label") for tag, a in page.elements if a.get("class") == "cell"
    ]
    told = "conv2, task position 1: missing 30.0 [29.0, 32.0]; 5 seeds"
    assert told in cells
    titles = re.findall("<summary><h2>(.*?)</h2>", report({"a": study()}, {}))
    assert titles[:2] == [
        "What is missing of each task?",
        "Never learned, or forgotten?",
    ]


def drawn(section, **others):
    """Return the figures of one section, folded ones last."""
    (found,) = (
        one for one in sections({"toy": study(**others)}) if one.name == section
    )
    return [*found.figures, *found.more]


def values(figure):
    return {
        name: [p.value for p in points] for name, points in figure.view.series.items()
    }


def test_each_task_is_followed_from_when_it_was_learned():
    course, *of_layers = drawn("course", measurements=with_layers())
    assert values(course)["conv2"] == pytest.approx([90, 85, 80])
    assert [figure.title for figure in of_layers] == ["conv1", "conv2"]
    assert values(of_layers[1])["task 1"] == pytest.approx([90, 80, 70])
    assert values(of_layers[1])["task 2"] == pytest.approx([90, 80])
    assert of_layers[1].view.table.lines[1:] == [
        ("2", "80.0", "90.0"),
        ("3", "70.0", "80.0"),
    ]


def test_lines_of_two_layers_have_the_shades_that_are_furthest_apart():
    page = report({"toy": study(measurements=with_layers())}, {})
    drawn = re.findall(r'">(\w+)</text><g class="s(\d)">', page)
    assert drawn == [("conv1", "0"), ("conv2", "6")]


@pytest.mark.parametrize("part", ["feature != 'conv2'", "tasks_seen < 3"])
def test_one_layer_or_two_tasks_have_no_course(part):
    toy = study(measurements=with_layers().query(part))
    assert "course" not in [section.name for section in sections({"toy": toy})]


def test_budgets_are_shown_with_floor_and_ceiling_at_the_same_budget():
    measured = layers({"conv1": 0.1, "conv2": 0.2})
    budgets = [measured.assign(readout=k) for k in ("retrain", "retrain@2")]
    first, second = drawn("budget", layers=pd.concat(budgets))
    assert (first.title, second.title) == ("conv1", "conv2")
    expected = {"accuracy": 70, "floor": 40, "ceiling": 90}
    assert values(second) == {k: pytest.approx([v, v]) for k, v in expected.items()}
    assert [point.x for point in second.view.series["floor"]] == [1, 2]
    point = second.view.series["accuracy"][0]
    assert (point.low, point.high) == pytest.approx((69, 72))


def test_fifty_tasks_are_drawn_in_part_and_all_in_the_table():
    assert spread_over(range(1, 51), 6) == (1, 11, 21, 30, 40, 50)
    series = {str(k): [ChartPoint(x=t, value=k) for t in (1, 2)] for k in range(50)}
    view = Chart(
        series=series,
        across="tasks learned",
        up="accuracy",
    )
    assert len(view.drawn) == 7
    assert len(view.table.columns) == 51


@pytest.mark.parametrize(
    "last", [[100, 99, 98, 1], [0, 0, 0, 0, 0, 0, 0], [50], [100, 97, 3, 0]]
)
def test_names_of_lines_are_in_their_order_apart_and_near_where_there_is_room(last):
    series = {f"layer{k}": [ChartPoint(x=1, value=v)] for k, v in enumerate(last)}
    view = Chart(
        series=series,
        across="",
        up="",
    )
    ends = view.ends
    order = sorted(range(len(last)), key=lambda k: (last[k], ends[k]))
    at = [ends[k] for k in order]
    assert all(b - a > 0.079 for a, b in pairwise(at))
    assert -1e-9 <= at[0] <= at[-1] <= 1
    assert len(last) > 1 or ends == [view.y.at(50)]


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_a_layer_has_the_color_of_its_depth_on_the_page_and_in_a_figure(count):
    """Also on a chart that some layers are not on."""
    layers = [f"layer{k}" for k in range(count)]
    series = {name: [ChartPoint(x=1, value=1)] for name in layers[:-1]}
    style = files("figures.report").joinpath("page.css").read_text("utf-8")
    css = dict(re.findall(r"--c(\d):(#\w+)", style)[:7])
    of_figure = layer_appearances(enumerate(layers, 1))
    for depth, k in enumerate(
        Chart(
            series=series,
            across="",
            up="",
            among=layers,
        ).shades,
        1,
    ):
        assert css[str(k)] == of_figure[depth].color


def test_every_class_with_a_style_is_one_of_the_page():
    texts = {
        path.name: path.read_text("utf-8")
        for path in files("figures.report").iterdir()
        if path.is_file()
    }
    # But for those that are numbered, by depth or shade.
    styled = re.findall(r"(?<!\d)\.([a-z][a-z-]+)\b", texts.pop("page.css"))
    quoted = re.findall(r"([\"'])(.*?)\1", "\n".join(texts.values()))
    words = set(re.findall(r"[\w-]+", " ".join(text for _, text in quoted)))
    assert set(styled) <= words


def test_differences_between_runs_are_paired_by_seed():
    """Of seeds that differ, or of a learner that lacks one of them, there is no interval."""
    worse = [STATED[0] | {"value": STATED[0]["value"] + 0.1}]
    rows = by_seed(worse[0], (0.3, 0.4, 0.5, 0.4, 0.4))
    seeds = new_table("statement_seeds", rows)
    text = report(
        {"a": study(), "b": tables(worse, MISSING, statement_seeds=seeds)}, {}
    )
    assert "10.0 [1.2, 18.8]" in text  # Student's t: 2.776 x .0707 / sqrt 5
    assert "different data" not in text
    others = study()["measurements"]
    others = others.assign(seed=others["seed"] + 1)
    for lacking in (
        {"statement_seeds": seeds, "measurements": others},
        {"statement_seeds": seeds[:4]},
    ):
        assert "10.0 [" not in report(
            {"a": study(), "b": tables(worse, MISSING, **lacking)}, {}
        )


def test_it_is_written_from_a_run_directory(tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    for name, table in study().items():
        write_table(folder / f"{name}.csv", name, table)
    path = write_report([folder], tmp_path / "page.html")
    assert 'aria-label="conv2: still there 60.0 [59.0, 62.0] %' in path.read_text()
    assert path.read_text() == report({"toy": study()}, {})
    with pytest.raises(InputError, match="same name"):
        write_report([folder, folder], path)
    hostile = folder.rename(tmp_path / "er\x1b[2J\u202e\udcff")
    text = write_report([hostile], path).read_text()
    assert r"er\x1b[2J\u202e\udcff" in text
    assert not {"\x1b", "\u202e"}.intersection(text)
    folder = hostile.rename(folder)
    for content in ("{", "[" * 100_000):
        (folder / "study.json").write_text(content)
        with pytest.raises(
            InputError, match=r"study.json is damaged: run the study again"
        ):
            write_report([folder], path)
    with pytest.raises(InputError, match="holds no result"):
        write_report([tmp_path], path)


def test_of_many_learners_twelve_are_shown_unless_others_are_asked_for():
    every = [f"learner{k}" for k in range(200)]
    found = {
        name: pd.concat([table.assign(learner=one) for one in every])
        for name, table in tables(STATED, MISSING, orders=1).items()
    }
    text = report({"sweep": found}, {})
    assert len(text) < 2_000_000
    assert " and 176 more." in text
    assert "<h2>learner11 " in text
    assert "<h2>learner12 " not in text
    asked = report({"sweep": found}, {}, ["learner150"])
    assert "<h2>learner150 " in asked
    with pytest.raises(InputError, match="'mine'"):
        report({"sweep": found}, {}, ["mine"])


def test_the_borders_of_colors_are_named_where_two_colors_meet():
    elements = Page(report({"toy": study()}, {})).elements
    first = next(k for k, (_, a) in enumerate(elements) if a.get("class") == "t0")
    shown = elements[first : first + 15]
    ends = [int(a["x"] or 0) + 40 for tag, a in shown if tag == "rect"]
    assert [int(a["x"] or 0) for tag, a in shown if tag == "text"] == ends[:-1]


def two_methods():
    invented_study = invented.study(
        ["er", "ft"],
        LAYERS,
    )
    return all_tables(**vars(invented_study))


def test_every_line_of_every_table_is_on_the_page():
    found = two_methods()
    page = report({"toy": found}, {})
    for section in sections({"toy": found}):
        for figure in (*section.figures, *section.more):
            sheet = getattr(figure.view, "table", figure.view)
            for first, *others in sheet.lines:
                cells = "".join(f"<td>{escape(text)}</td>" for text in others)
                line = f'<th scope="row">{escape(first)}</th>{cells}</tr>'
                assert line in page


def test_the_doubts_that_are_folded_are_counted():
    page = report({"toy": two_methods()}, {})
    folded = re.findall(r"More to doubt \((\d+)\)</summary><ul>(.*?)</ul>", page)
    assert [int(count) - text.count("<li>") for count, text in folded] == [0, 0]


def test_numbers_of_an_answer_stand_below_their_titles():
    found = two_methods()
    page = report({"toy": found}, {})
    names = "still there", "untrained", "joint", "never learned", "forgotten"
    titles = [f'<th scope="col">{name}</th>' for name in names]
    assert "".join(titles) in page
    for answer in answers(found):
        for line in answer.layers:
            texts = [
                shown(line.held),
                shown(line.untrained),
                shown(line.joint),
                shown(line.never_learned),
                shown(line.forgotten),
            ]
            cells = [f"<td>{text}</td>" for text in texts]
            assert "".join(cells) in page


def shown(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{100 * value:.1f}"
    return with_ends(value)


def test_no_mark_leaves_its_picture():
    """The second run's causes are ten times those of the first."""
    causes = invented.causes(
        ["ft"],
        ["conv1", "output"],
        tasks=3,
    )
    columns = ["value", "low", "high"]
    more = causes.assign(**{column: 10 * causes[column] for column in columns})
    runs = {"a": study(causes=causes), "b": study(causes=more)}
    page = report(runs, {})
    assert seen.marks_stay_inside(page) > 1


def test_verdicts_of_every_run_are_explained():
    runs = {
        verdict: study(causes=causes((verdict, "none", "none")))
        for verdict in ("costs", "repairs")
    }
    key = report(runs, {}).partition("Points: of accuracy")[2].partition("</p>")[0]
    for verdict in runs:
        assert CAUSE_VERDICTS[verdict] in key


@pytest.mark.parametrize("statement", ["forgets", "learns_less", "misses"])
def test_a_map_is_striped_where_its_own_statement_is_withheld(statement):
    names = ("never_learned", "forgotten")
    parts = [layer("conv1", name, 0.12, j) for name in names for j in (1, 2)]
    withheld = stated("conv1", "no ceiling", 0.1, statement)
    found = tables([withheld], MISSING, layers=new_table("layers", parts))
    maps = {section.name: section for section in sections({"toy": found})}["parted"]
    striped = {}
    for figure in maps.figures[1:]:
        ((cell, *_),) = figure.view.cells
        striped[figure.title] = cell.withheld
    assert striped == {
        "never learned": statement == "learns_less",
        "forgotten": statement == "forgets",
    }


def test_causes_come_before_what_a_readout_of_the_same_layer_forgot():
    forgot = [layer("conv1", "forgotten", 0.12, j) for j in (None, 1, 2)]
    causes = invented.causes(["ft"], ["conv1", "output"], tasks=3)
    found = study(causes=causes, layers=new_table("layers", forgot))
    figures = {section.name: section.figures for section in sections({"toy": found})}
    table, content = figures["parted"]
    assert table.view.lines == [
        ("ft, right after the task", "51.0", "52.0", "53.0"),
        ("ft, after all tasks", "55.0", "54.0", "53.0"),
    ]
    assert [cell.text for cell in content.view.cells[0]] == ["12.0"] * 3
    page = report({"toy": found}, {})
    doubted = {
        **tables([stated("output", "near chance", 0.6)], MISSING),
        "causes": found["causes"],
    }
    doubtful = report({"toy": doubted}, {})
    doubt = "In doubt:</b> at output: a run is near chance on its first task"
    assert doubt in doubtful
    assert doubt not in page
    few = layers({"conv1": 0.1, "conv2": 0.2}).assign(readout="linear:20")
    assert [line[0] for line in drawn("repaired", layers=few)[0].view.lines] == [
        "conv1",
        "conv2",
    ]
    for line in answers(found)[0].layers:
        assert f"{line.layer}: accounts for {with_ends(line.cost)} points" in page
    assert page.index("accounts for, points") < page.index("still there, %")
    assert page.index("still there, %") < page.index("Never learned, or forgotten?")

"""What a study reports: its heads and weightings, the published scores, and its mistakes."""

import math

import pytest
from probe.metrics.over_seeds import Spread
from scenarios.study.clscore import NAMES, cl_scores

from probe.errors import InputError
from probe.tables.run_directory import TIMES
from scenarios.commands import run
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.study.source import Overrides, check_study
from scenarios.study.spec import ReportSpec

# Diaz-Rodriguez 2018, Table 1 in its own column order, and Table 3: CLscore under W1, W2, W3.
TABLE_1 = ("rem", "bwt_plus", "fwt", "ms", "sss", "ce")
PUBLISHED = {
    "naive": (0.3825, (0.6664, 0, 0.1, 1, 1, 0.4492), (0.5140, 0.5529, 0.5312)),
    "cumulative": (0.7225, (1, 0.0673, 0.1, 1, 0.55, 0.1496), (0.5128, 0.6223, 0.5373)),
    "ewc": (0.5940, (0.9821, 0, 0.1, 0.4, 1, 0.3495), (0.4894, 0.6449, 0.5816)),
    "lwf": (0.5278, (0.9667, 0, 0.1, 1, 1, 0.4429), (0.5768, 0.6554, 0.6030)),
    "si": (0.5795, (0.9620, 0, 0.1, 0.4, 1, 0.3613), (0.4861, 0.6372, 0.5772)),
}
RAW = {
    "name": "tiny",
    "scenario": {"data": "digits", "train_limit": 4},
    "network": {"name": "mlp"},
    "training": {"epochs": 1},
    "learners": {"finetune": {}, "cumulative": {}},
    "orders": "none",
}


def spreads(numbers, seeds=3, std=0.0):
    return {name: Spread(mean=n, std=std, seeds=seeds) for name, n in numbers.items()}


def published(strategy):
    accuracy, others, scores = PUBLISHED[strategy]
    return {"accuracy": accuracy, **dict(zip(TABLE_1, others, strict=True))}, scores


@pytest.mark.parametrize("strategy", PUBLISHED)
def test_table_1_gives_table_3_to_four_decimals(strategy):
    criteria, scores = published(strategy)
    got = {name: round(s.mean, 4) for name, s in cl_scores(spreads(criteria), ReportSpec())}
    for weighting, score in zip(("W1", "W2", "W3"), scores, strict=True):
        assert got[f"cl_score[{weighting}]"] == score
        assert got[f"cl_stability[{weighting}]"] == 1


def test_two_criteria_exchanged_do_not_give_table_3():
    criteria, scores = published("naive")
    criteria |= {"rem": criteria["ce"], "ce": criteria["rem"]}
    got = {name: round(s.mean, 4) for name, s in cl_scores(spreads(criteria), ReportSpec())}
    assert got["cl_score[W1]"] == scores[0]  # of equal weights
    assert (got["cl_score[W2]"], got["cl_score[W3]"]) != scores[1:]


def test_stability_needs_two_seeds_of_every_criterion():
    criteria = spreads(published("ewc")[0], std=0.02)
    assert dict(cl_scores(criteria, ReportSpec()))["cl_stability[W2]"].mean == pytest.approx(0.98)
    criteria["ce"] = Spread(mean=0.5, std=math.nan, seeds=1)
    names = [name for name, _ in cl_scores(criteria, ReportSpec())]
    assert names == ["cl_score[W1]", "cl_score[W2]", "cl_score[W3]"]


@pytest.mark.parametrize("missing", NAMES.values())
def test_a_missing_criterion_leaves_no_score(missing):
    criteria = spreads(published("si")[0])
    del criteria[missing]
    assert list(cl_scores(criteria, ReportSpec())) == []


def test_the_papers_weightings_are_always_there_and_all_sum_to_1():
    report = ReportSpec(weights={"mine": (0, 0.25, 0, 0, 0, 0, 0.75)})
    assert list(report.weightings) == ["W1", "W2", "W3", "mine"]
    for shares in report.weightings.values():
        assert list(shares) == ["A", "MS", "SSS", "CE", "REM", "BWT+", "FWT"]
        assert math.fsum(shares.values()) == pytest.approx(1)
    assert report.weightings["mine"]["FWT"] == 0.75
    assert report.weightings["W2"]["REM"] == 0.15  # the caption's, not the body text's 0.2


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        ({"heads": []}, "report.heads: "),
        ({"heads": ["multy"]}, "report.heads.0: expected 'single', 'multi' or 'all'"),
        (
            {"heads": ["all", "multi", "all"]},
            "report.heads: heads names each head once, got all, m",
        ),
        ({"heads": "multi"}, "report.heads: "),
        ({"head": ["multi"]}, "report.head: there is no such key"),
        ({"weights": {"a": [1, 0]}}, "report.weights: got 2 weights, expected 7"),
        ({"weights": {"a": [0.2] * 7}}, "report.weights: weights must sum to 1, got 1.4"),
        (
            {"weights": {"W1": [1, 0, 0, 0, 0, 0, 0]}},
            "report.weights: W1 is a weighting of the pap",
        ),
        ({"weights": {"a,b": [1, 0, 0, 0, 0, 0, 0]}}, "report.weights: 'a,b' is no name"),
        ({"weights": {"a": "1"}}, "report.weights.a: "),
    ],
)
def test_a_mistake_is_named_by_its_path(report, problem):
    with pytest.raises(InputError) as error:
        check_study({**RAW, "report": report}, "tiny")
    assert str(error.value).startswith(f"tiny: {problem}")
    assert "\n" not in str(error.value)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


TINY = (
    "name = 'tiny'\norders = 'none'\n[scenario]\ndata = 'digits'\ntrain_limit = 4\n"
    "[network]\nname = 'mlp'\n[training]\nepochs = 1\n[learners.finetune]\n"
)


def test_another_report_measures_nothing_anew_and_writes_its_tables(tmp_path, monkeypatch):
    """The same directory is the study's own; its tables are those of a run with that report."""
    (tmp_path / "tiny.toml").write_text(TINY)
    source = str(tmp_path / "tiny.toml")
    monkeypatch.setattr("scenarios.commands.run.build", lambda root: [])
    report = Overrides(heads=["multi", "all"], weights=["mine=0,0,1,0,0,0,0"])
    afresh = Options(out=tmp_path / "afresh", choice=Choice(workers=1))
    again = Options(out=tmp_path / "again", choice=Choice(workers=1))
    run_study(source, report, afresh)
    run_study(source, Overrides(), again)
    parts = {path: path.stat().st_mtime_ns for path in (again.out / "jobs").rglob("*")}
    single = files(again.out)
    run_study(source, report, again)
    assert {path: path.stat().st_mtime_ns for path in (again.out / "jobs").rglob("*")} == parts
    assert timeless(again.out) == timeless(afresh.out)
    changed = {name for name, content in files(again.out).items() if content != single[name]}
    assert changed == {"study.json", "rows.csv", "metrics.csv", "tables.json"}
    with pytest.raises(InputError, match=r"training\.epochs is 1 there and 2 here"):
        run_study(source, Overrides(epochs=2), again)


def test_a_report_that_another_process_asks_for_meanwhile(tmp_path, monkeypatch):
    """It has written its description before this one's tables: each makes those of its own."""
    (tmp_path / "tiny.toml").write_text(TINY)
    source, true = str(tmp_path / "tiny.toml"), run.show_progress
    report = Overrides(heads=["multi", "all"])
    monkeypatch.setattr(run, "build", lambda root: [])
    afresh = Options(out=tmp_path / "afresh", choice=Choice(workers=1))
    shared = Options(out=tmp_path / "shared", choice=Choice(workers=1))
    run_study(source, report, afresh)

    def overtaken(*arguments):
        ends = true(*arguments)
        (shared.out / "study.json").write_bytes((afresh.out / "study.json").read_bytes())
        return ends

    with monkeypatch.context() as patch:
        patch.setattr(run, "show_progress", overtaken)
        run_study(source, Overrides(), shared)
    single = timeless(shared.out)
    run_study(source, report, shared)
    assert timeless(shared.out) == timeless(afresh.out) != single


def timeless(out):
    """Return the files, but for how long tasks took, which is another matter, and its hash."""
    return {**files(out), TIMES: b"", "tables.json": b""}

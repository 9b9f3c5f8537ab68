"""What a study reports: its heads and weightings, the published scores, and its mistakes."""

import math

import pytest

from probe.errors import InputError
from probe.metrics.mean_over_seeds import SeedMean
from probe.results.scores import CRITERIA_NAMES, cl_scores
from probe.tables.run_directory import TIMES
from scenarios.commands import run
from scenarios.commands.run import run_study
from scenarios.options import RunOptions
from scenarios.study.source import check_study
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


def over_seeds(numbers, seeds=3, std=0.0):
    return {name: SeedMean(mean=n, std=std, seeds=seeds) for name, n in numbers.items()}


def published(strategy):
    accuracy, others, scores = PUBLISHED[strategy]
    return {"accuracy": accuracy, **dict(zip(TABLE_1, others, strict=True))}, scores


@pytest.mark.parametrize("strategy", PUBLISHED)
def test_table_1_gives_table_3_to_four_decimals(strategy):
    criteria, scores = published(strategy)
    got = {name: round(s.mean, 4) for name, s in cl_scores(over_seeds(criteria), ReportSpec())}
    for weighting, score in zip(("W1", "W2", "W3"), scores, strict=True):
        assert got[f"cl_score[{weighting}]"] == score
        assert got[f"cl_stability[{weighting}]"] == 1


def test_two_criteria_exchanged_do_not_give_table_3():
    criteria, scores = published("naive")
    criteria |= {"rem": criteria["ce"], "ce": criteria["rem"]}
    got = {name: round(s.mean, 4) for name, s in cl_scores(over_seeds(criteria), ReportSpec())}
    assert got["cl_score[W1]"] == scores[0]  # of equal weights
    assert (got["cl_score[W2]"], got["cl_score[W3]"]) != scores[1:]


def test_stability_needs_two_seeds_of_every_criterion():
    criteria = over_seeds(published("ewc")[0], std=0.02)
    assert dict(cl_scores(criteria, ReportSpec()))["cl_stability[W2]"].mean == pytest.approx(0.98)
    criteria["ce"] = SeedMean(mean=0.5, std=math.nan, seeds=1)
    names = [name for name, _ in cl_scores(criteria, ReportSpec())]
    assert names == ["cl_score[W1]", "cl_score[W2]", "cl_score[W3]"]


@pytest.mark.parametrize("missing", CRITERIA_NAMES.values())
def test_a_missing_criterion_leaves_no_score(missing):
    criteria = over_seeds(published("si")[0])
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
        ({"head": ["multi"]}, "report.head: unknown key"),
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


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return the file of a study of one learner, whose figures are not drawn."""
    monkeypatch.setattr(run, "build", lambda *_, **__: [])
    (tmp_path / "tiny.toml").write_text(
        "name = 'tiny'\norders = 'none'\n[scenario]\ndata = 'digits'\ntrain_limit = 4\n"
        "[network]\nname = 'mlp'\n[training]\nepochs = 1\n[learners.finetune]\n"
    )
    return str(tmp_path / "tiny.toml")


REPORT = {"heads": "multi,all", "weights": ("mine=0,0,1,0,0,0,0",)}


def timeless(out):
    """Return the files, but for how long tasks took."""
    return {p.name: p.read_bytes() for p in out.iterdir() if p.is_file() and p.name != TIMES}


def test_another_report_measures_nothing_anew_and_writes_its_tables(source, tmp_path):
    """The same directory is the study's own; its tables are those of a run with that report."""
    afresh, again = tmp_path / "afresh", tmp_path / "again"
    run_study(source, RunOptions(out=afresh, workers=1, **REPORT))
    run_study(source, RunOptions(out=again, workers=1))
    parts = {path: path.stat().st_mtime_ns for path in (again / "jobs").rglob("*.json")}
    single = timeless(again)
    run_study(source, RunOptions(out=again, workers=1, **REPORT))
    assert {path: path.stat().st_mtime_ns for path in (again / "jobs").rglob("*.json")} == parts
    assert timeless(again) == timeless(afresh)
    changed = {name for name, content in timeless(again).items() if content != single[name]}
    assert changed == {"study.json", "rows.csv", "metrics.csv"}


def test_a_report_that_another_process_asks_for_meanwhile(source, tmp_path, monkeypatch):
    """It has written its description before this one's tables: each makes those of its own."""
    afresh, shared, true = tmp_path / "afresh", tmp_path / "shared", run.show_progress
    run_study(source, RunOptions(out=afresh, workers=1, **REPORT))

    def overtaken(*arguments):
        ends = true(*arguments)
        (shared / "study.json").write_bytes((afresh / "study.json").read_bytes())
        return ends

    with monkeypatch.context() as patch:
        patch.setattr(run, "show_progress", overtaken)
        run_study(source, RunOptions(out=shared, workers=1))
    single = timeless(shared)
    run_study(source, RunOptions(out=shared, workers=1, **REPORT))
    assert timeless(shared) == timeless(afresh) != single

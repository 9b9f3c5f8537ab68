"""A study of which a job fails: the rest goes on, and failures are listed at the end."""

import functools

import pandas as pd

from scenarios.commands.figures import draw_requested
from scenarios.execution.work import Work
from scenarios.options import FigureOptions
from tests.scenarios.execution.helpers import SICK, disturbed, run, tables

FLAGS = {"learners": "finetune,offline"}


def test_an_error_is_kept_until_the_job_is_done(tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    badly = {SICK: "error output after 2"}

    def work(loader, **settings):
        return Work(loader=functools.partial(disturbed, loader, badly), **settings)

    with monkeypatch.context() as patch:
        patch.setattr("scenarios.commands.run.Work", work)
        assert not run(out, **FLAGS)
    trace = out / "failures" / f"{SICK}.txt"
    *said, lacking = capsys.readouterr().out.splitlines()[-4:]
    assert said == [
        "1 job failed; run the same command again to try again:",
        f"  {SICK}: KeyError: 'nobody foresaw this'",
        f"    {trace}",
    ]
    assert lacking.startswith("the tables contain only finished jobs")
    assert trace.read_text().startswith("Traceback (most recent call last):")
    # One order of two is missing, and of that only the first steps are there.
    rows = pd.read_csv(out / "measurements.csv").query(
        "learner == 'finetune' and order == 'back'"
    )
    assert {*rows["tasks_seen"]} == {0, 1}
    draw_requested(out, FigureOptions(only="depth,matrix,bias", format="png"))
    assert run(out, **FLAGS)
    assert not trace.parent.exists()
    assert "failed" not in capsys.readouterr().out
    assert run(tmp_path / "well", **FLAGS)
    assert tables(out) == tables(tmp_path / "well")

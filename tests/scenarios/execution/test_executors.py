"""Whatever does the jobs of a study, and however many processes are killed, its tables are one."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios.execution.inline import Inline

from scenarios.execution.pool import Pool
from scenarios.execution.schedule import RETRIES, execute
from scenarios.execution.work import Attempt, Ended, Part
from scenarios.study.job import parts_of
from scenarios.study.tables import write_tables
from tests.scenarios.execution.quick import (
    Kill,
    Watched,
    children,
    finish,
    jobs_in,
    kill,
    killer,
    lines,
    study_of,
    tables,
    until,
    waiting,
    work_of,
)

STUDY = study_of()
SICK = "finetune.order-back.seed-0"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    work = work_of(tmp_path_factory.mktemp("whole") / "run", STUDY)
    assert {end.how for end in finish(work, Inline())} == {"finished"}
    return tables(work.root)


def test_three_workers_give_the_same_tables(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    work = work_of(tmp_path / "run", STUDY)
    watched = Watched(Pool(["cpu"] * 3))
    ends = finish(work, watched)
    assert {end.how for end in ends} == {"finished"}
    assert sorted(end.job.name for end in ends) == sorted(job.name for job in jobs_in(work))
    assert tables(work.root) == undisturbed
    expected = {Part(job, part) for job in jobs_in(work) for part in parts_of(STUDY, job)}
    parts = [event for event in watched.seen if isinstance(event, Part)]
    assert set(parts) == expected
    assert len(parts) == len(expected)
    assert children() == frozenset()


def test_killed_workers_cost_their_own_job_alone(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    """At four moments: right after its start, before its job's first part, halfway, in the last."""
    _, second, third, fourth, _ = (job.name for job in jobs_in(work_of(tmp_path, STUDY)))
    moments = [(second, "step-0"), (third, "step-3"), (fourth, "feature-hidden2")]
    work = work_of(tmp_path / "run", STUDY, waits=moments)
    watched = Watched(Pool(["cpu"] * 2))

    def first_started() -> int | None:
        return min(children(), default=None)

    with killer([first_started, *(waiting(work, job) for job, _ in moments)]) as kills:
        ends = finish(work, watched)
    assert {end.how for end in ends} == {"finished"}
    assert len(watched.ended("killed")) == 4
    assert {second, third, fourth} <= set(watched.ended("killed"))
    assert all(others_live(each) for each in kills)
    assert sum(len(each.before) for each in kills) > 4
    assert tables(work.root) == undisturbed


def others_live(killed: Kill) -> bool:
    return killed.before - {killed.process} <= killed.after


def test_killed_with_nothing_to_do(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """A worker killed between two jobs is replaced; its next job has lost no attempt."""
    work = work_of(tmp_path / "run", STUDY)
    left, killed = [Attempt(job) for job in jobs_in(work)], []

    def take() -> Attempt | None:
        if len(left) == 2:
            killed.append(kill(min(children())))
            # Its pool has seen that it is gone before it is given the next job.
            until(lambda: not Path("/proc", str(killed[0].process)).exists())
        return left.pop(0) if left else None

    ends = [event for event in Pool(["cpu"]).events(work, take) if isinstance(event, Ended)]
    assert [end.how for end in ends] == ["finished"] * 5
    assert len(killed) == 1
    write_tables(work.identity, work.root)
    assert tables(work.root) == undisturbed


def test_killed_every_time(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """A job that kills whoever does it is given up, and tried again by the next command."""
    work = work_of(tmp_path / "run", STUDY, SICK, "kill")
    watched = Watched(Pool(["cpu"] * 2))
    [failed] = [end for end in finish(work, watched) if end.how == "failed"]
    assert RETRIES == 2
    assert watched.ended("killed") == [SICK] * 3
    assert failed.job.name == SICK
    assert failed.reason == (
        "its worker was killed, 3 times: if memory was short, run the same command again with "
        "fewer --workers"
    )
    sick, healthy = failed.job, [job for job in jobs_in(work) if job != failed.job]
    assert watched.ended("finished") == sorted(job.name for job in healthy)
    rows = tables(work.root)["rows.csv"]
    for job in healthy:
        assert lines(rows, job) == lines(undisturbed["rows.csv"], job) != []
    assert len(lines(rows, sick)) < len(lines(undisturbed["rows.csv"], sick))

    well = work_of(work.root, STUDY)
    assert [(end.job, end.how) for end in finish(well, Inline())] == [(sick, "finished")]
    assert tables(work.root) == undisturbed
    assert list(execute(well, jobs_in(well), Inline())) == []


def test_not_killed_is_not_tested(tmp_path: Path) -> None:
    """The other tests' killer fails where nothing was killed."""
    work = work_of(tmp_path / "run", STUDY)
    with pytest.raises(AssertionError), killer([waiting(work, SICK)]):
        pass


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("memory", "out of memory (), 3 times: if memory was short"),
        ("gpu", "out of memory (CUDA out of memory. Tried to allocate 2.00 GiB), 3 times"),
    ],
)
def test_out_of_memory_is_tried_again(
    tmp_path: Path, undisturbed: dict[str, bytes], how: str, reason: str
) -> None:
    work = work_of(tmp_path / "run", STUDY, SICK, how)
    watched = Watched(Inline())
    [failed] = [end for end in finish(work, watched) if end.how == "failed"]
    assert watched.ended("killed") == [SICK] * 3
    assert failed.reason.startswith(reason)
    assert finish(work_of(work.root, STUDY), Inline())[0].how == "finished"
    assert tables(work.root) == undisturbed


def test_without_retries_it_is_given_up_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarios.execution.schedule.RETRIES", 0)
    work = work_of(tmp_path / "run", study_of(learners={"finetune": {}}), SICK, "memory")
    watched = Watched(Inline())
    assert [end.how for end in finish(work, watched)] == ["finished", "failed"]
    assert watched.ended("killed") == [SICK]


def test_an_unforeseen_error_is_not_tried_again(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    work = work_of(tmp_path / "run", STUDY, SICK, "error")
    watched = Watched(Inline())
    [failed] = [end for end in finish(work, watched) if end.how == "failed"]
    assert watched.ended("failed") == [SICK]
    assert failed.reason == "KeyError: 'nobody foresaw this'"
    assert "in end_badly" in failed.trace
    healthy = [job for job in jobs_in(work) if job.name != SICK]
    assert watched.ended("finished") == sorted(job.name for job in healthy)
    for job in healthy:
        rows = tables(work.root)["rows.csv"]
        assert lines(rows, job) == lines(undisturbed["rows.csv"], job)

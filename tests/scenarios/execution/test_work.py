"""How a job is carried out: under its lock, on one thread, and how it is said to have ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.errors import NotWritten
from scenarios.execution.executor import Inline
from scenarios.execution.locks import is_locked
from scenarios.execution.work import Ended, Part, Work, carried_out, carry_out
from tests.scenarios.execution.helpers import FIRST, jobs_in, locked, run, tables, work_of


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return work_of(tmp_path / "run")


def test_it_tells_its_parts_and_then_that_it_has_finished(work: Work) -> None:
    job = jobs_in(work)[0]
    events = []
    for event in carry_out(work, job):
        events.append(event)
        assert work.is_locked(job) == isinstance(event, Part)
    parts = [Part(job, part) for part in work.parts(job)]
    assert events == [*parts, Ended(job=job, how="finished")]
    assert list(carry_out(work, job)) == events[-1:]
    assert work.is_finished(job)


@pytest.mark.parametrize(
    ("badly", "how", "reason"),
    [
        ("memory", "killed", "out of memory ()"),
        ("gpu", "killed", "out of memory (CUDA out of memory. Tried to allocate 2.00 GiB)"),
        ("error", "failed", "KeyError: 'nobody foresaw this'"),
        ("misuse", "failed", "learner finetune, order there, seed 0: training diverged"),
    ],
)
def test_it_ends_badly(tmp_path: Path, badly: str, how: str, reason: str) -> None:
    """What was finished is kept; only an error that nobody foresaw is traced back."""
    work = work_of(tmp_path / "run", {FIRST: f"{badly} step-2"})
    job = jobs_in(work)[0]
    ended = carried_out(work, job)
    assert (ended.job.name, ended.how, ended.reason) == (FIRST, how, reason)
    assert ("in end_badly" in ended.trace) == (badly == "error")
    assert work.finished(job) == {"step-0", "step-1"}
    assert not work.is_locked(job)
    assert carried_out(replace(work, badly={}), job).how == "finished"


def test_what_cannot_be_written_is_raised(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run", {FIRST: "unwritten step-2"})
    with pytest.raises(NotWritten, match="No space left on device"):
        list(carry_out(work, jobs_in(work)[0]))
    assert not work.is_locked(jobs_in(work)[0])


def test_a_locked_job_is_left_alone(work: Work) -> None:
    job = jobs_in(work)[0]
    with locked(work.folder(job)):
        [ended] = carry_out(work, job)
    assert (ended.job, ended.how) == (job, "locked")
    assert work.finished(job) == set()


def test_a_directory_that_was_moved_away_is_not_made_anew(work: Work) -> None:
    job = jobs_in(work)[0]
    work.root.rename(work.root.with_name("moved"))
    with pytest.raises(NotWritten, match="is gone: name the folder where it is now"):
        list(carry_out(work, job))
    assert not work.root.exists()


def test_moved_away_in_the_middle_of_a_job(work: Work) -> None:
    events = carry_out(work, jobs_in(work)[0])
    next(events)
    work.root.rename(work.root.with_name("moved"))
    with pytest.raises(NotWritten, match="was its folder moved or removed"):
        list(events)
    assert not work.root.exists()
    assert not is_locked(work.root.with_name("moved") / "jobs" / FIRST)


def test_what_another_has_finished_meanwhile_is_not_begun(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the moment when it was seen to be left and the lock; not even data are loaded."""
    job = jobs_in(work)[-1]
    ended = carried_out(work, job)
    begun = []

    def run_job(*_: object) -> tuple[str, ...]:
        begun.append("job")
        return ()

    monkeypatch.setattr("scenarios.execution.work._loaded", lambda *_: begun.append("data"))
    monkeypatch.setattr("scenarios.execution.work.run_job", run_job)
    assert list(carry_out(work, job)) == [ended]
    assert begun == []
    part = work.store(job).folder / "step-0.json"
    part.write_bytes(part.read_bytes()[:-1])
    assert list(carry_out(work, job)) == [ended]
    assert begun == ["data", "job"]


def test_a_corrupt_part_is_computed_again(work: Work) -> None:
    job = jobs_in(work)[0]
    carried_out(work, job)
    store = work.store(job)
    part = store.folder / "feature-hidden1.json"
    content = part.read_bytes()
    part.write_bytes(content.replace(b"c", b"d", 1))
    assert not work.is_finished(job)
    assert list(carry_out(work, job)) == [
        Part(job, "feature-hidden1"),
        Ended(job=job, how="finished"),
    ]
    assert part.read_bytes() == content


def by_a_worker(work: Work) -> Ended:
    return carried_out(work, jobs_in(work)[0])


def in_this_process(work: Work) -> Ended:
    left = jobs_in(work)[:1]
    *_, ended = Inline().events(work, lambda: left.pop() if left else None)
    assert isinstance(ended, Ended)
    return ended


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("carry", [by_a_worker, in_this_process])
@pytest.mark.parametrize("how", ["finished", "failed"])
def test_a_job_has_one_thread(
    work: Work, monkeypatch: pytest.MonkeyPatch, carry: Callable[[Work], Ended], how: str
) -> None:
    seen = []

    def job(*_: object) -> Iterator[str]:
        seen.append(torch.get_num_threads())
        yield "step-0"
        seen.append(torch.get_num_threads())
        if how == "failed":
            raise KeyError("nobody foresaw this")

    monkeypatch.setattr("scenarios.execution.work.run_job", job)
    assert carry(work).how == how
    assert seen == [1, 1]
    assert torch.get_num_threads() == 2


def test_results_of_other_code_are_made_again_when_asked(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so long they do not count as finished; those of today's code stay."""
    first, second, *_ = jobs_in(work)
    carried_out(work, second)
    with monkeypatch.context() as patch:
        patch.setattr("scenarios.study.run_directory.code_hash", lambda kind: "other code")
        carried_out(work, first)
    again = replace(work, recompute=True)
    assert (work.is_finished(first), again.is_finished(first)) == (True, False)
    assert (len(work.finished(first)), again.finished(first)) == (len(work.parts(first)), set())
    assert list(carry_out(work, first)) == [Ended(job=first, how="finished")]
    assert list(carry_out(again, second)) == [Ended(job=second, how="finished")]
    assert [event for event in carry_out(again, first) if isinstance(event, Part)] == [
        Part(first, part) for part in work.parts(first)
    ]
    assert again.is_finished(first)


def test_a_worker_that_finds_other_data(work: Work) -> None:
    work = replace(work, setup=replace(work.setup, data="0" * 64))
    ended = carried_out(work, jobs_in(work)[0])
    assert ended.how == "failed"
    assert "not those that the study began with" in ended.reason
    assert work.finished(jobs_in(work)[0]) == set()


FEATURES = """
orders = "none"
[scenario]
data = "{file}"
[network]
name = "mlp"
[training]
epochs = 1
[learners.finetune]
"""


def test_a_file_of_the_same_name_with_other_data(tmp_path: Path) -> None:
    """In one process, which keeps the data that it has loaded."""
    study, file = tmp_path / "features.toml", tmp_path / "birds.npz"
    study.write_text(FEATURES.format(file=file))
    found = []
    for k, seed in enumerate((0, 1, 0)):
        x = np.random.default_rng(seed).normal(size=(40, 6)).astype(np.float32)
        y = np.arange(40) % 4
        np.savez(file, x_train=x, y_train=y, x_test=x, y_test=y)
        assert run(tmp_path / str(k), study)
        found.append(tables(tmp_path / str(k)))
    assert found[0] == found[2] != found[1]

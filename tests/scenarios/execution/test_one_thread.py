"""However a job is carried out, torch has one thread for it, and afterwards as many as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from scenarios.execution.inline import Inline

from scenarios.execution.work import Attempt, Ended, Work, carried_out
from tests.scenarios.execution.quick import jobs_in, study_of, work_of


def by_a_worker(work: Work) -> Ended:
    return carried_out(work, Attempt(jobs_in(work)[0]))


def in_this_process(work: Work) -> Ended:
    left = [Attempt(jobs_in(work)[0])]
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carry: Callable[[Work], Ended], how: str
) -> None:
    seen = []

    def job(*_: object) -> Iterator[str]:
        seen.append(torch.get_num_threads())
        yield "step-0"
        seen.append(torch.get_num_threads())
        if how == "failed":
            raise KeyError("nobody foresaw this")

    monkeypatch.setattr("scenarios.execution.work.run_job", job)
    assert carry(work_of(tmp_path / "run", study_of())).how == how
    assert seen == [1, 1]
    assert torch.get_num_threads() == 2

"""Shards: every job is begun once, and whoever is left ends the study."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios.execution.claims import Claims
from scenarios.execution.shards import Shard

from probe.errors import InputError
from probe.tables.run_directory import TABLES
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.execution.work import Work
from scenarios.study.overrides import Overrides
from tests.scenarios.execution.forked import child, exit_code, fork, until

STUDY = Overrides(learners=["er", "offline"], seeds=1, orders="shuffle:3", epochs=1, train_limit=8)
LEASE = 0.6

shards = st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n)))


@given(shards, st.integers(0, 40))
def test_an_order_holds_every_job_once_and_its_own_first(shard: tuple[int, int], size: int) -> None:
    number, of = shard
    order, jobs = Shard(number, of).order(range(size)), list(range(size))
    assert sorted(order) == jobs
    own = [job for job in jobs if job % of == number - 1]
    assert order[: len(own)] == own


@given(st.integers(1, 12), st.integers(0, 40))
def test_together_they_begin_every_job_once(of: int, size: int) -> None:
    """Each has done as many as its own when it begins with those of others."""
    begun = [
        job
        for number in range(1, of + 1)
        for job in Shard(number, of).order(range(size))[: len(range(number - 1, size, of))]
    ]
    assert sorted(begun) == list(range(size))


@given(st.integers(2, 12), st.integers(1, 40))
def test_what_others_begin_with_is_helped_with_last(of: int, size: int) -> None:
    """Of another's jobs a shard takes up first the one that the other comes to last."""
    orders = [Shard(number, of).order(range(size)) for number in range(1, of + 1)]
    for number, order in enumerate(orders):
        for other in range(of):
            if other != number:
                theirs = [job for job in order if job % of == other]
                assert theirs == sorted(theirs, reverse=True)


@given(shards)
def test_a_shard_is_read_as_it_is_written(shard: tuple[int, int]) -> None:
    assert Shard.read("{}/{}".format(*shard)) == Shard(*shard)


@pytest.mark.parametrize(
    "text", ["", "1", "/", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", "1.0/2", " 1/2", "²/3"]
)
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"expects i/n with i from 1 to n, as 3/8, got"):
        Shard.read(text)


def run(out: Path, shard: str | None = None, lease: float = LEASE) -> int:
    with pytest.MonkeyPatch.context() as patch:
        # Figures take longer than the study, and are drawn from the tables alone.
        patch.setattr("scenarios.commands.run.build", lambda root: [])
        patch.setattr("scenarios.commands.run.Work", partial(Work, lease=lease))
        part = Shard.read(shard) if shard else None
        options = Options(out=out, choice=Choice(executor="inline"), shard=part)
        return 0 if run_study("digits", STUDY, options) else 1


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("whole") / "run"
    run(out)
    return tables(out)


@pytest.mark.parametrize("of", [2, 5])
def test_all_shards_at_once(tmp_path: Path, undisturbed: dict[str, bytes], of: int) -> None:
    """With more shards than jobs, too; whoever is last writes the tables."""
    out = tmp_path / "run"
    processes = [fork(lambda i=i: run(out, f"{i}/{of}")) for i in range(1, of + 1)]  # type: ignore[misc]
    assert {exit_code(process) for process in processes} == {0}
    assert tables(out) == undisturbed
    assert not (out / "locks").exists()


def test_one_shard_alone_does_everything(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    run(tmp_path / "run", "2/7")
    assert tables(tmp_path / "run") == undisturbed


@pytest.mark.parametrize(("rerun", "where"), [("1/2", None), ("2/2", None), ("1/2", "far away")])
def test_a_shard_is_killed(
    tmp_path: Path, undisturbed: dict[str, bytes], rerun: str, where: str | None
) -> None:
    """Its job is left in the middle; any shard that is started again ends the study.

    Also if nobody here can see that it is dead: no shard leaves it the job for ever.
    """
    out = tmp_path / "run"

    def die() -> int:
        replace = os.replace

        def deadly(source: Path, target: Path) -> None:
            if Path(target).name == "step-3.json":
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)

        os.replace = deadly  # type: ignore[assignment]
        return run(out, "2/2")

    assert exit_code(fork(die)) == -signal.SIGKILL
    [lock] = (out / "locks").iterdir()
    if where:
        lock.write_text(json.dumps({**json.loads(lock.read_text()), "machine": where}))
    start = time.monotonic()
    run(out, rerun)
    assert tables(out) == undisturbed
    assert time.monotonic() - start > (LEASE if where else 0.0)


def test_a_shard_that_ends_before_the_others_says_so(
    tmp_path: Path, undisturbed: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    """It does all that is left, and leaves to another what that one is seen to be doing."""
    out = tmp_path / "run"
    locks = Claims(out / "locks", LEASE)

    def hold() -> None:
        until(lambda: (out / "study.json").exists())
        with locks.held("er.order-1.seed-0"):
            time.sleep(60)

    with child(hold) as process:
        assert run(out, "1/2") == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"1 jobs are being done by other processes (process {process} on" in said
        assert "the last to finish writes the tables" in said
        assert not (out / "rows.csv").exists()
        assert list((out / "jobs").glob("offline*/step-5.json"))
        assert not list((out / "jobs").glob("er.order-1*/*"))
    assert run(out, "1/2") == 0
    assert tables(out) == undisturbed


def test_who_waits_for_another_takes_over_what_it_leaves(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    """Two shards each find the other at work: the last to look writes the tables."""
    out = tmp_path / "run"
    first = fork(lambda: run(out, "1/2"))
    second = fork(lambda: run(out))
    assert (exit_code(first), exit_code(second)) == (0, 0)
    assert tables(out) == undisturbed

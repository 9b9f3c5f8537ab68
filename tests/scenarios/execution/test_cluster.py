"""The jobs of a study on a Ray cluster of two nodes, whose workers and nodes are killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import ray
import torch
from ray.cluster_utils import Cluster as Nodes
from scenarios.execution.inline import Inline

from probe.errors import InputError, NotWritten
from scenarios.commands.run import Options, run_study
from scenarios.execution.choosing import Choice
from scenarios.execution.cluster import Cluster
from scenarios.execution.work import Attempt
from scenarios.study.source import Overrides
from tests.scenarios.execution.quick import (
    Watched,
    finish,
    holders,
    jobs_in,
    killer,
    study_of,
    tables,
    until,
    waiting,
    work_of,
)
from tests.scenarios.execution.typed import command

STUDY = study_of()
SICK, NEXT = "finetune.order-back.seed-0", "er.order-there.seed-0"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster whose first node, which is never killed, does no jobs."""
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield nodes
    nodes.shutdown()


@pytest.fixture
def room(nodes: Any) -> Iterator[None]:
    """A node with room for two jobs."""
    node = nodes.add_node(num_cpus=2)
    yield
    nodes.remove_node(node)


@pytest.fixture
def card(nodes: Any) -> Iterator[None]:
    """A node with room for six jobs and a card, which Ray only counts."""
    node = nodes.add_node(num_cpus=6, num_gpus=1)
    yield
    nodes.remove_node(node)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    work = work_of(tmp_path_factory.mktemp("whole") / "run", STUDY)
    finish(work, Inline())
    return tables(work.root)


def test_a_worker_and_a_node_are_killed(
    tmp_path: Path, nodes: Any, undisturbed: dict[str, bytes]
) -> None:
    """The worker of one job, then the node of another: what is lost is done again elsewhere."""
    work = work_of(tmp_path / "run", STUDY, waits=[(SICK, "step-3"), (NEXT, "step-3")])
    others = [nodes.add_node(num_cpus=count) for count in (1, 2)]

    def node_of_the_next() -> int | None:
        process = waiting(work, NEXT)()
        return parent(process) if process and worker_killed else None

    watched = Watched(Cluster(nodes.address, 3, 0.0))
    with killer([waiting(work, SICK)]) as worker_killed, killer([node_of_the_next]) as node_killed:
        ends = finish(work, watched)
    raylets = {node.all_processes["raylet"][0].process.pid for node in others}
    assert node_killed[0].process in raylets
    assert {end.how for end in ends} == {"finished"}
    assert {SICK, NEXT} <= set(watched.ended("killed"))
    assert tables(work.root) == undisturbed
    for node in others:
        nodes.remove_node(node, allow_graceful=False)


def parent(process: int) -> int | None:
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def test_what_cannot_be_written_ends_the_study(tmp_path: Path, nodes: Any, room: None) -> None:
    """And what others do at that moment does not go on."""
    work = work_of(tmp_path / "run", STUDY, "finetune.order-there.seed-0", "unwritten")
    with pytest.raises(NotWritten, match="No space left on device"):
        finish(work, Cluster(nodes.address, 2, 0.0))
    until(lambda: not holders(work.root), seconds=5)


def test_without_a_card_nobody_waits_for_one(tmp_path: Path, nodes: Any) -> None:
    work = work_of(tmp_path / "run", STUDY)
    with pytest.raises(InputError, match="no GPU is part of the Ray cluster"):
        finish(work, Cluster(nodes.address, 1, 0.25))


@pytest.mark.parametrize("known", [True, False], ids=["RAY_ADDRESS", "found"])
def test_the_cluster_of_this_machine_is_found(
    nodes: Any, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """And left again: whether there is a card is known before anything is written."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    # Else Ray shows the cluster that it finds a token of the user's, for which this one has no use.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    if known:
        monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    Cluster("auto", 1, 0.0)
    assert not ray.is_initialized()
    with pytest.raises(InputError, match="no GPU is part of the Ray cluster"):
        Cluster("auto", 1, 0.25)
    assert not ray.is_initialized()


@pytest.mark.parametrize(("share", "at_once"), [(0.25, 4), (0.5, 2)])
def test_jobs_share_a_card(
    tmp_path: Path, nodes: Any, card: None, share: float, at_once: int
) -> None:
    """Of six jobs that end when they are killed as many are begun as the card has room for."""
    study = study_of(seeds=3, learners={"finetune": {}})
    names = [job.name for job in jobs_in(work_of(tmp_path / "run", study))]
    work = work_of(tmp_path / "run", study, waits=[(name, "step-1") for name in names])
    left = [Attempt(job) for job in jobs_in(work)]
    looks = [0]

    class Enough(Exception):
        pass

    def take() -> Attempt | None:
        if left:
            return left.pop()
        looks.append(len(holders(work.root)))
        if looks[-3:] == [at_once] * 3 or len(looks) > 50:
            raise Enough
        return None

    with pytest.raises(Enough):
        list(Cluster(nodes.address, 8, share).events(work, take))
    assert max(looks) == looks[-3] == at_once


def test_cards_are_driven_from_a_machine_without(
    tmp_path: Path, nodes: Any, card: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing fails before a worker finds that the card is none, which only Ray believed in."""
    choice = Choice(executor="ray", address=nodes.address, gpus=0.5)
    few = Overrides(learners=["finetune"], orders="none", seeds=1, train_limit=4)
    options = Options(out=tmp_path / "run", choice=choice, device="cuda", cache_budget=10**6)
    if not torch.cuda.is_available():
        assert not run_study("digits", few, options)
        assert "1 job failed" in capsys.readouterr().out
    else:
        assert run_study("digits", few, options)


def test_ctrl_c_leaves_the_cluster_as_it_was(tmp_path: Path, nodes: Any, room: None) -> None:
    parts = tmp_path / "run" / "jobs"
    with command(tmp_path, "--executor", "ray", "--ray-address", nodes.address) as started:
        started.reaches(lambda: list(parts.glob("*/step-2.json")))
        start = time.monotonic()
        started.process.send_signal(signal.SIGINT)
        _, said = started.process.communicate(timeout=10)
        assert time.monotonic() - start < 5
        assert started.process.returncode == 130
        assert said == "stopped: run the same command again to go on\n"
        started.ends_within(5)
    until(lambda: not holders(tmp_path / "run"), seconds=5)

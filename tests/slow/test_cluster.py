"""The jobs of a study on a Ray cluster, whose workers and nodes are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster as Nodes

from scenarios.execution.cluster import Cluster
from tests.scenarios.execution.helpers import (
    SICK,
    finish,
    results,
    run,
    tables,
    until,
    waiting,
    work_of,
)
from tests.slow.helpers import JOB, command, holders, killer, parent_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster: a node without jobs, and one with room for three and a card, which Ray counts."""
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes.add_node(num_cpus=3, num_gpus=1)
    yield nodes
    nodes.shutdown()


@pytest.mark.soak
def test_a_worker_and_a_node_are_killed(tmp_path: Path, nodes: Any, finished: Path) -> None:
    """The worker of one job, then the node of another: what is lost is done again elsewhere."""
    work = work_of(tmp_path / "run", {SICK: "wait step-3", JOB: "wait step-3"})
    nodes.add_node(num_cpus=2)

    def node() -> int | None:
        process = waiting(work, JOB)
        return process and parent_of(process)

    with killer(partial(waiting, work, SICK)), killer(node):
        ends = finish(work, Cluster(nodes.address, 3, 0.0))
    assert {end.how for end in ends.values()} == {"finished"}
    assert tables(work.root) == tables(finished)


@pytest.mark.soak
def test_a_cluster_of_its_own_is_killed_and_stopped_and_started_again(
    tmp_path: Path, finished: Path
) -> None:
    out, alone = tmp_path / "run", ["--executor", "ray", "--workers", "2"]
    with command(out, *alone) as started:
        started.reaches(lambda: list(out.glob("jobs/*/*/step-2.json")))
        started.process.kill()
        # Not Ray's own helpers, which write nothing here: they may stay for a while.
        until(lambda: not holders(out))
        done = results(out)
    with command(out, *alone) as started:
        started.reaches(lambda: len(results(out)) > len(done) and holders(out))
        os.kill(holders(out)[0], signal.SIGKILL)
        before = len(results(out))
        started.reaches(lambda: len(results(out)) > before + 3)
        shown = started.stops(signal.SIGTERM)
        assert "ray" not in shown.replace(str(tmp_path), "").lower()
    assert run(out)
    assert tables(out) == tables(finished)
    assert results(out).items() >= done.items()

"""The jobs of a study on a Ray cluster, whose workers and nodes are killed."""

import os
import signal
from functools import partial

import pytest
import ray
import torch
from ray.cluster_utils import Cluster as Nodes

from probe.errors import InputError, NotWritten
from scenarios.execution.cluster import cluster
from tests.scenarios.execution.helpers import (
    FIRST,
    SICK,
    finish,
    jobs_in,
    run,
    tables,
    until,
    waiting,
    work_of,
)
from tests.scenarios.tiny_run import TINY, measured
from tests.slow.helpers import JOB, command, holders, killer, parent_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes():
    """A cluster: a node without jobs, and one with room for three and a card, which Ray counts."""
    nodes = Nodes(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    nodes.add_node(num_cpus=3, num_gpus=1)
    yield nodes
    nodes.shutdown()


@pytest.mark.soak
def test_what_cannot_be_written_ends_the_study(tmp_path, nodes):
    """And what others do at that moment does not go on."""
    work = work_of(tmp_path / "run", {FIRST: "unwritten output after 2"})
    with pytest.raises(NotWritten, match="No space left on device"):
        finish(work, cluster(nodes.address, 2, 0.0))
    until(lambda: not holders(work.root))


@pytest.mark.parametrize("known", [True, False], ids=["RAY_ADDRESS", "found"])
def test_the_cluster_of_this_machine_is_found(nodes, monkeypatch, known):
    """And left again: whether there are cards is known before anything is written."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    # Else Ray shows the cluster that it finds a token of the user's, for which this one
    # has no use.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    if known:
        monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    cluster("auto", 1, 1.0)
    assert not ray.is_initialized()
    with pytest.raises(InputError, match="Ray cluster has no GPU"):
        cluster("auto", 1, 2.0)
    assert not ray.is_initialized()


METHOD = """
import probe
from scenarios.learners.continual import ContinualLearner, ContinualSettings
class Settings(ContinualSettings):
    share: float = 0.5
@probe.learner("own")
class Own(ContinualLearner):
    settings_class = Settings
"""


@pytest.mark.soak
def test_a_method_of_the_users_with_settings_runs_on_a_node(tmp_path, nodes):
    """Its file lies where no node looks for modules."""
    method, study = tmp_path / "own_method.py", tmp_path / "study.toml"
    method.write_text(METHOD)
    study.write_text(TINY.replace("learners.finetune", "learners.own"))
    ray_of = {"executor": "ray", "ray_address": nodes.address, "device": "cpu"}
    assert run(tmp_path / "run", study, load=[str(method)], **ray_of)


@pytest.mark.soak
def test_two_jobs_share_a_card(tmp_path, nodes):
    """Of jobs that never end as many are begun as the card has room for, and no more."""
    names = [job.name for job in jobs_in(work_of(tmp_path / "run"))]
    work = work_of(tmp_path / "run", dict.fromkeys(names, "wait output after 1"))
    left = jobs_in(work)

    class Enough(Exception):
        pass

    def take():
        if left:
            return left.pop()
        begun = sum(waiting(work, name) is not None for name in names)
        assert begun <= 2
        # Ray has no room for another.
        if begun == 2 and ray.available_resources().get("GPU", 0) < 0.5:
            raise Enough
        return None

    with pytest.raises(Enough):
        list(cluster(nodes.address, 8, 0.5)(work, take))


def test_cards_are_driven_from_a_machine_without(tmp_path, nodes, capsys):
    """Nothing fails before a worker finds that the card is none, which only Ray believed in."""
    flags = {"executor": "ray", "ray_address": nodes.address, "gpus_per_job": 0.5}
    few = {
        "learners": "finetune",
        "orders": "none",
        "device": "cuda",
        "cache_budget": "1MB",
    }
    assert run(tmp_path / "run", **flags, **few) == torch.cuda.is_available()
    assert ("1 job failed" in capsys.readouterr().out) != torch.cuda.is_available()


@pytest.mark.soak
def test_a_worker_and_a_node_are_killed(tmp_path, nodes, finished):
    """The worker of one job, then the node of another: what is lost is done again elsewhere."""
    work = work_of(
        tmp_path / "run", {SICK: "wait output after 3", JOB: "wait output after 3"}
    )
    nodes.add_node(num_cpus=2)

    def node():
        process = waiting(work, JOB)
        return process and parent_of(process)

    with killer(partial(waiting, work, SICK)), killer(node):
        ends = finish(work, cluster(nodes.address, 3, 0.0))
    assert {end.how for end in ends.values()} == {"finished"}
    assert tables(work.root) == tables(finished)


@pytest.mark.soak
def test_a_cluster_of_its_own_is_killed_and_stopped_and_started_again(
    tmp_path, finished
):
    out = tmp_path / "run"
    alone = ["--executor", "ray", "--workers", "2"]
    with command(out, *alone) as started:
        started.reaches(lambda: list(out.glob("jobs/*/*/predictions.*.npz")))
        started.process.kill()
        # Not Ray's own helpers, which write nothing here: they may stay for a while.
        until(lambda: not holders(out))
        done = measured(out)
    with command(out, *alone) as started:
        started.reaches(lambda: len(measured(out)) > len(done) and holders(out))
        os.kill(holders(out)[0], signal.SIGKILL)
        before = len(measured(out))
        started.reaches(lambda: len(measured(out)) > before + 3)
        shown = started.stops(signal.SIGTERM)
        assert "ray" not in shown.replace(str(tmp_path), "").lower()
    assert run(out)
    assert tables(out) == tables(finished)
    assert measured(out).items() >= done.items()

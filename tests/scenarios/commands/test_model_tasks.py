"""`probe model` on data that bring their tasks, and on a network whose factory has changed."""

from importlib import import_module

import numpy as np
import pytest
import torch

from probe.results.load import load
from scenarios.user_code import importing
from tests.scenarios.own_run import MODULE, RECIPE, SOURCE, Own, apart, tables

DOMAINS = f"""{SOURCE}
def domains():
    return list(zip(*([(x[k::3].roll(k, 3), y[k::3]) for k in range(3)] for x, y in load())))

def turned(model, x, task):
    return model(x) * torch.where(task == 1, -1, 1)[:, None]
"""
FLAGS = {**RECIPE, "tasks": None, "orders": None, "offline": None, "readouts": "linear"}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A user's folder with three checkpoints, and a file of each domain; no test may change it."""
    own = Own(tmp_path_factory.mktemp("domains")).written(DOMAINS)
    own.checkpoints.mkdir()
    (own.folder / "sites").mkdir()
    code = module(own)
    for task, ((x, y), (u, v)) in enumerate(code.domains(), 1):
        torch.manual_seed(task)
        torch.save(code.build().state_dict(), own.checkpoints / f"task{task}.pt")
        site = own.folder / "sites" / f"{task}.npz"
        np.savez(site, x_train=x, y_train=y, x_test=u, y_test=v)
    return own


def module(own):
    with apart(), importing(f"{own.code}:build"):
        return import_module(MODULE)


def measured(root, head):
    """Return R, by tasks learned and task."""
    return {
        (row.tasks_seen, int(row.task)): row.value
        for row in load(root).measurements().itertuples()
        if (row.learner, row.metric, row.head) == ("model", "accuracy", head)
        and row.tasks_seen
    }


def plain(own, sign):
    """Return R by a plain loop; sign: by which the logits of domain 2 are multiplied."""
    code = module(own)
    found = {}
    for tasks_seen in range(1, 4):
        model = code.build().eval()
        model.load_state_dict(
            torch.load(own.checkpoints / f"task{tasks_seen}.pt", weights_only=True)
        )
        for task, (_, (x, y)) in enumerate(code.domains(), 1):
            right = (model(x) * (sign if task == 2 else 1)).argmax(1) == y
            found[tasks_seen, task] = float(right.double().mean())
    return found


def test_domains_by_a_function_and_by_files_are_the_plain_evaluation(own):
    flags = {**FLAGS, "checkpoints": str(own.checkpoints / "task{task}.pt")}
    domains = {"data": f"{own.code}:domains", **flags}
    listed = own.model("listed", **domains)
    assert measured(listed, "single") == pytest.approx(plain(own, 1), abs=1e-12)
    files = own.model("files", data=str(own.folder / "sites" / "{task}.npz"), **flags)
    expected = tables(listed)["measurements.csv"].replace(
        f"{MODULE}:domains,".encode(), b"sites,"
    )
    assert tables(files)["measurements.csv"] == expected
    told = own.model("told", call=f"{own.code}:turned", **domains)
    assert measured(told, "multi") == pytest.approx(plain(own, -1), abs=1e-12)
    assert not measured(told, "single")


# A network whose factory changed between two runs

PRETRAINED = """

def pretrained():
    model = build()
    model.load_state_dict(torch.load("pre.pt", weights_only=True))
    return model
"""


def draw(own, seed, name):
    """Write a checkpoint with the weights of a seed."""
    torch.manual_seed(seed)
    torch.save(module(own).build().state_dict(), name)


def test_weights_that_the_factory_loads_are_part_of_what_it_is(tmp_path, monkeypatch):
    """It is done again; the floor is that of the network as it is made."""
    own = Own(tmp_path).written(SOURCE + PRETRAINED)
    monkeypatch.chdir(tmp_path)
    draw(own, 0, "task2.pt")
    few = {
        "target": f"{own.code}:pretrained",
        "readouts": "linear",
        "checkpoints": "task{task}.pt",
    }
    few |= {"orders": None, "offline": None, "learner": "finetune"}
    draw(own, 1, "pre.pt")
    first = tables(own.model(**few))
    draw(own, 2, "pre.pt")
    second = tables(own.model(**few))
    assert first["layers.csv"] != second["layers.csv"]
    assert tables(own.model("fresh", **few)) == second

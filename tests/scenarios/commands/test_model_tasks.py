"""`probe model` on data that bring their tasks: three domains, and networks told which."""

import csv
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.errors import InputError
from scenarios.user_model import importing
from tests.scenarios.own_run import MODULE, RECIPE, SOURCE, Own, apart, tables

DOMAINS = (
    SOURCE
    + """
def domains():
    (x, y), (u, v) = load()
    return [((x[k::3].roll(k, 3), y[k::3]), (u[k::3].roll(k, 3), v[k::3])) for k in range(3)]


def turned(model, x, task):
    return model(x) * torch.where(task == 1, -1, 1)[:, None]
"""
)
FLAGS = {**RECIPE, "tasks": None, "orders": None, "offline": None, "readouts": "linear"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Own:
    """A user's folder with three checkpoints, and a file of each domain; no test may change it."""
    own = Own(tmp_path_factory.mktemp("domains")).written(DOMAINS)
    own.checkpoints.mkdir()
    (own.folder / "sites").mkdir()
    with apart(), importing(f"{own.code}:build"):
        code = __import__(MODULE)
    for task, pair in enumerate(code.domains(), 1):
        torch.manual_seed(task)
        torch.save(code.build().state_dict(), own.checkpoints / f"task{task}.pt")
        named = {
            f"{p}_{n}": t
            for n, h in zip(("train", "test"), pair, strict=True)
            for p, t in zip("xy", h, strict=True)
        }
        np.savez(own.folder / "sites" / f"{task}.npz", **named)
    return own


def accuracies(root: Path, head: str) -> dict[tuple[str, str], float]:
    """Return the accuracies by tasks learned and task."""
    with (root / "rows.csv").open(newline="") as file:
        return {
            (row["step"], row["task"]): float(row["value"])
            for row in csv.DictReader(file)
            if (row["learner"], row["measure"], row["head"]) == ("model", "accuracy", head)
            and not row["feature"]
            and row["step"] != "0"
        }


def plain(own: Own, sign: int) -> dict[tuple[str, str], float]:
    """Return the same by a plain loop; sign: by which the logits of domain 2 are multiplied."""
    with apart(), importing(f"{own.code}:build"):
        code = __import__(MODULE)
    found = {}
    for step in range(1, 4):
        model = code.build().eval()
        model.load_state_dict(torch.load(own.checkpoints / f"task{step}.pt", weights_only=True))
        for task, (_, (x, y)) in enumerate(code.domains(), 1):
            logits = model(x) * (sign if task == 2 else 1)
            found[str(step), str(task)] = float((logits.argmax(1) == y).double().mean())
    return found


def test_domains_by_a_function_and_by_files_are_the_plain_evaluation(own: Own) -> None:
    flags = {**FLAGS, "checkpoints": str(own.checkpoints / "task{task}.pt")}
    listed = own.model("listed", data=f"{own.code}:domains", **flags)
    assert accuracies(listed, "single") == pytest.approx(plain(own, 1), abs=1e-12)
    files = own.model("files", data=str(own.folder / "sites" / "{task}.npz"), **flags)
    expected = tables(listed)["rows.csv"].replace(f"{MODULE}:domains,".encode(), b"sites,")
    assert tables(files)["rows.csv"] == expected
    told = own.model("told", data=f"{own.code}:domains", call=f"{own.code}:turned", **flags)
    assert accuracies(told, "multi") == pytest.approx(plain(own, -1), abs=1e-12)
    assert not accuracies(told, "single")


def test_tasks_are_given_once(own: Own) -> None:
    flags = {**FLAGS, "checkpoints": str(own.checkpoints / "task{task}.pt")}
    for changed, said in (
        ({"tasks": "0-3,0-3,0-3"}, r"classes .* in more than one task.*'sites/{task}.npz'"),
        ({}, "there are no tasks: give --tasks 0-1,2-3, .* or data that have tasks"),
        (
            {"tasks": "0-3", "data": f"{own.code}:domains"},
            "have their tasks, so tasks= is left out",
        ),
        ({"head": "several", "data": f"{own.code}:domains"}, "head must be 'single' or 'multi'"),
    ):
        with pytest.raises(InputError, match=said):
            own.model("refused", **{**flags, **changed})

"""`probe diff`: two files and the user's own data, from the command line."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import cross_entropy

import probe as toolkit
from tests.probe.one_pair import AFTER, BEFORE, NEW, OLD, TRAIN

MODULE = """
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset
from tests.probe.one_pair import NEW, OLD as old, TRAIN as train, network as build

dataset = TensorDataset(*old)
loader = DataLoader(dataset, batch_size=50, shuffle=True)

def new():
    return NEW

def broken():
    raise RuntimeError("no disk")

def doubled(model, x):
    return {"logits": model(2 * x)}

def loss(model, x, y):
    return -cross_entropy(model(x), y, reduction="none")
"""

FILES = "before.pt after.pt --model mynet:build"


@pytest.fixture(scope="module")
def cwd(tmp_path_factory):
    """Write the user's module, and the files of both networks."""
    folder = tmp_path_factory.mktemp("diff")
    (folder / "mynet.py").write_text(MODULE)
    torch.save(BEFORE.state_dict(), folder / "before.pt")
    torch.save(AFTER.state_dict(), folder / "after.pt")
    x, y = OLD
    np.savez(folder / "old.npz", x=x.double().numpy(), y=y.int().numpy())
    return folder


def plain(diff):
    """Return all that a comparison says, as JSON gives it back."""
    return json.loads(json.dumps(diff.to_dict()))


def test_it_prints_what_diff_says_and_writes_all_of_it(probe, cwd):
    diff = toolkit.diff(BEFORE, AFTER, OLD, NEW, train=TRAIN)
    flags = "--old mynet:old --new mynet:new --train mynet:train"
    code, out, err = probe(f"diff {FILES} {flags}")
    assert (code, out, err) == (0, f"{diff}\n", "")
    out = probe(f"diff {FILES} {flags} --json --out made/here")[1]
    assert json.loads(out) == plain(diff)
    folder = cwd / "made/here"
    assert (folder / "answer.txt").read_text() == f"{diff}\n"
    assert json.loads((folder / "answer.json").read_text()) == plain(diff)
    for name in ("causes", "changes", "remedies", "content", "examples"):
        table = getattr(diff, name)
        read = pd.read_csv(folder / f"{name}.csv")
        assert list(read) == list(table)
        numbers = read.select_dtypes("float")
        expected = table[list(numbers)].astype(float)
        np.testing.assert_allclose(numbers, expected, rtol=1e-12)
    assert "<html" in (folder / "report.html").read_text()
    assert len(list(folder.iterdir())) == 8


@pytest.mark.parametrize(
    "old", ["mynet:loader", "mynet:dataset", "old.npz", "./mynet.py:old"]
)
def test_old_examples_come_in_any_form(probe, old):
    code, out, err = probe(f"diff {FILES} --old {old} --json")
    assert (code, err) == (0, "")
    assert json.loads(out) == plain(toolkit.diff(BEFORE, AFTER, OLD))


def test_blocks_scores_and_seeds_are_passed_on(probe):
    flags = "--blocks 'first=0.*,last=2.weight,last=2.bias' --score mynet:loss --seed 3"
    out = probe(f"diff {FILES} --old mynet:old --new mynet:new --json {flags}")[1]
    diff = toolkit.diff(
        BEFORE,
        AFTER,
        OLD,
        NEW,
        blocks={"first": "0.*", "last": ["2.weight", "2.bias"]},
        score=lambda model, x, y: -cross_entropy(model(x), y, reduction="none"),
        seed=3,
    )
    assert json.loads(out) == plain(diff)


def test_calls_and_outputs_are_passed_on(probe):
    flags = "--blocks 0 --call mynet:doubled --output logits"
    out = probe(f"diff {FILES} --old mynet:old --json {flags}")[1]
    diff = toolkit.diff(
        BEFORE, AFTER, OLD, blocks=["0"], call=lambda model, x: model(2 * x)
    )
    assert json.loads(out) == plain(diff)


@pytest.mark.parametrize(("score", "unit"), [("accuracy", 100), ("loss", 1)])
def test_the_exit_code_tells_whether_more_was_lost_than_is_tolerated(
    probe, score, unit
):
    """In points of accuracy, and in nats of the loss, at the lower end of the interval."""
    low = unit * toolkit.diff(BEFORE, AFTER, OLD, score=score).answer.lost.low
    for change, expected in ((-0.001, 1), (0.001, 0)):
        flags = f"--old mynet:old --score {score} --tolerate {low + change}"
        code, _, err = probe(f"diff {FILES} {flags}")
        assert (code, err.count("\n")) == (expected, expected)
        assert (f"{low:.3g}" in err) == bool(expected)


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--old mynet:broken", "no disk"),
        ("--old mynet:odl", "'old'"),
        ("--old mydata", "mydata"),
        ("--old none:old", "none"),
        ("--old none.npz", "none.npz"),
        ("--old mynet:build", "Linear"),
        ("--old mynet:old --score accuracies", "accuracies"),
        ("--old mynet:old --blocks a=0.*,b", "a=0.*,b"),
        ("--old mynet:old --blocks first", "first"),
        ("", "--old"),
    ],
)
def test_a_mistake_is_one_sentence(probe, flags, named):
    code, out, err = probe(f"diff {FILES} {flags}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert named in err


def test_files_that_do_not_fit_are_named(probe, cwd):
    torch.save({"0.weight": torch.zeros(16, 8)}, cwd / "part.pt")
    for file in ("part.pt", "missing.pt"):
        code, _, err = probe(
            f"diff before.pt {file} --model mynet:build --old mynet:old"
        )
        assert code == 2
        assert re.match(rf"error: .*{file}", err)
    assert probe("diff before.pt --model mynet:build --old mynet:old")[0] == 2

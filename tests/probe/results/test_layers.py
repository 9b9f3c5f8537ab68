"""layers.csv and the metrics of layers against plain numpy over the parts as they are stored."""

import numpy as np
import pytest

from probe.metrics.gem import bwt
from probe.metrics.matrix import AccuracyMatrix
from tests.scenarios.probed import counts, rows, value
from tests.scenarios.tiny_run import Tiny, probed

ORDERS = {"there": (0, 1), "back": (1, 0)}
SEEDS = (0, 1)
FEATURES = ("hidden1", "hidden2")
READOUTS = ("retrain", "linear")


def by_task(table) -> np.ndarray:
    """Return the accuracy on each task in base order, (2,): digits 0-4 and 5-9."""
    right, all_of = np.diagonal(table), table.sum(axis=1)
    return np.array([right[own].sum() / all_of[own].sum() for own in (slice(5), slice(5, 10))])


def part(learner: str, step: int, feature: str, readout: str) -> str:
    """Return the name of a part, without its digest."""
    if feature == "output":
        return f"step-{step}"
    if (learner, step, readout) == ("finetune", 2, "retrain"):
        return f"feature-{feature}"
    return f"row-{step}.{feature}.{readout}"


def row_of(study, order, seed, step, feature, readout) -> np.ndarray:
    """Return a row of A in executed order."""
    name = part("finetune", step, feature, readout)
    table = counts(study, f"finetune.order-{order}.seed-{seed}", name)
    return by_task(table)[list(ORDERS[order])]


def level(study, learner, seed, feature, readout) -> np.ndarray:
    """Return floor or ceiling by task in base order."""
    step = {"untrained": 0, "offline": 2}[learner]
    name = part(learner, step, feature, readout)
    return by_task(counts(study, f"{learner}.seed-{seed}", name))


def over_runs(of) -> np.ndarray:
    """Return the mean over orders, then over seeds, of a value (2,) by place."""
    return np.mean([np.mean([of(o, s) for o in ORDERS], axis=0) for s in SEEDS], axis=0)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("feature", [*FEATURES, "output"])
def test_what_is_there_by_layer_and_place_is_what_the_parts_say(study, feature, readout):
    last = over_runs(lambda o, s: row_of(study, o, s, 2, feature, readout))
    floor, ceiling = (
        over_runs(
            lambda o, s, learner=learner: level(study, learner, s, feature, readout)[
                list(ORDERS[o])
            ]
        )
        for learner in ("untrained", "offline")
    )
    expected = {
        "accuracy": last,
        "floor": floor,
        "ceiling": ceiling,
        "missing": ceiling - last,
    }
    here = {"learner": "finetune", "readout": readout, "feature": feature}
    for quantity, by_place in expected.items():
        for place in (1, 2):
            found = value(study, "layers", **here, quantity=quantity, place=place)
            assert found == pytest.approx(by_place[place - 1], abs=1e-12), (quantity, place)
        whole = value(study, "layers", **here, quantity=quantity, place="")
        assert whole == pytest.approx(by_place.mean(), abs=1e-12), quantity
        assert value(study, "layers", "seeds", **here, quantity=quantity, place="") == 2


@pytest.mark.parametrize("feature", [*FEATURES, "output"])
def test_what_was_forgotten_and_never_learned_where_all_rows_are_measured(study, feature):
    """The best row is chosen by its mean at each place; all tasks are the mean over places."""

    def a(order, seed):
        floor = level(study, "untrained", seed, feature, "linear")[list(ORDERS[order])]
        if feature == "output":
            floor = row_of(study, order, seed, 0, feature, "linear")
        return np.stack(
            [floor, *(row_of(study, order, seed, k, feature, "linear") for k in (1, 2))]
        )

    A = over_runs(a)
    ceiling = over_runs(lambda o, s: level(study, "offline", s, feature, "linear")[list(ORDERS[o])])
    forgotten, never = A[:2].max(axis=0) - A[2], ceiling - A.max(axis=0)
    since = A[1, 0] - A[2, 0]
    expected = {
        "forgotten": {"": forgotten.mean(), "1": forgotten[0], "2": forgotten[1]},
        "never_learned": {"": never.mean(), "1": never[0], "2": never[1]},
        "since_learned": {"": since, "1": since},
    }
    here = {"learner": "finetune", "readout": "linear", "feature": feature}
    for quantity, by_place in expected.items():
        found = {
            row["place"]: float(row["value"])
            for row in rows(study, "layers", **here, quantity=quantity)
        }
        assert found == pytest.approx(by_place, abs=1e-12), quantity


def matrix(study, order, seed, feature, readout) -> np.ndarray:
    """Return A, (3, 2), from rows.csv alone; the floor is that of the learner `untrained`."""
    found = np.full((3, 2), np.nan)
    names = ["0-4", "5-9"]
    own = {"feature": feature, "readout": readout, "measure": "accuracy", "seed": seed}
    for learner, of in (("untrained", ""), ("finetune", order)):
        for row in rows(study, "rows", **own, learner=learner, order=of):
            place = ORDERS[order].index(names.index(row["task"]))
            found[int(row["step"]), place] = float(row["value"])
    return found


@pytest.mark.parametrize("feature", FEATURES)
def test_metrics_of_a_layer_are_those_of_its_own_matrix(study, feature):
    """By the linear readout, whose every row is measured; of retraining one row is missing."""
    own = {"learner": "finetune", "feature": feature}
    each = {(o, s): matrix(study, o, s, feature, "linear") for o in ORDERS for s in SEEDS}
    assert not any(np.isnan(A).any() for A in each.values())
    expected = over_runs(lambda o, s: bwt(AccuracyMatrix(each[o, s])))
    # GEM's own formula, once more by hand: what task 1 lost while task 2 was learned.
    assert expected == pytest.approx(over_runs(lambda o, s: each[o, s][2, 0] - each[o, s][1, 0]))
    found = value(study, "metrics", "mean", **own, paper="gem", metric="bwt", readout="linear")
    assert found == pytest.approx(float(expected), abs=1e-12)
    assert not rows(study, "metrics", **own, paper="gem", readout="retrain")
    assert np.isnan(matrix(study, "there", 0, feature, "retrain")[1]).all()


def test_controls_have_no_layers_of_their_own_and_without_a_ceiling_nothing_starts(study, tmp_path):
    """The output alone has one, whatever is measured: it would be the first of one."""
    for table in ("layers", "starts"):
        assert {row["learner"] for row in rows(study, table)} == {"finetune", "joint"}
    tiny = Tiny(tmp_path / "tiny")
    tiny.run(probed('readouts = { retrain = "last", linear = "all" }'), seeds=2)
    assert rows(tiny, "layers", readout="retrain", feature="output", quantity="missing")
    assert not rows(tiny, "layers", readout="retrain", feature="hidden1", quantity="missing")
    assert [row["readout"] for row in rows(tiny, "starts")] == ["linear"]

"""Labels by their positions in `classes=`, and by the numbers of the outputs themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from probe import Model, analyze
from probe.errors import InputError
from tests.probe.calls import DATA, TASKS, net, retrained


@pytest.mark.parametrize("outputs", [[7, 5], [5, 7], [1, 2]])
def test_labels_may_be_the_numbers_of_the_outputs(outputs: list[int]) -> None:
    own = replace(DATA, y=torch.tensor(outputs)[DATA.y])
    given = {"model": net(outputs=9), "features": ["1", "2"], "classes": outputs}
    by_place, by_name = (
        retrained(**given),
        retrained(**given, train=own, tasks=[[c] for c in outputs]),
    )
    assert by_name.measurements().equals(by_place.measurements())
    assert by_name.tasks == by_place.tasks
    # And where a list of examples tells their tasks.
    given["tasks"] = None
    by_place = retrained(**given, train=[DATA.of_classes(task) for task in TASKS])
    by_name = retrained(**given, train=[own.of_classes([each]) for each in outputs])
    assert by_name.measurements().equals(by_place.measurements())


def test_labels_from_zero_are_positions_whatever_the_outputs() -> None:
    model = net()
    straight, crossed = (retrained(model, ["2"], classes=own) for own in ([0, 1], [1, 0]))
    assert straight.pra["2"] == pytest.approx(1 - crossed.pra["2"])


def test_classes_may_be_an_array_and_tasks_name_them_as_labels_do() -> None:
    model, array = net(outputs=9), torch.tensor([7, 5])
    listed = retrained(model, ["2"], classes=[7, 5])
    by_array = retrained(model, ["2"], classes=array)
    assert by_array.measurements().equals(listed.measurements())
    own = replace(DATA, y=torch.tensor([7, 5])[DATA.y])
    with pytest.raises(InputError, match=r"classes \[0, 1\], which are not in classes="):
        retrained(model, ["2"], classes=[7, 5], train=own, tasks=TASKS)


def test_an_analysis_takes_the_numbers_of_the_outputs() -> None:
    own = replace(DATA, y=DATA.y + 7)
    model = Model({2: net(outputs=9)}, classes=[7, 8])
    by_name = analyze(model, own, own, [[7], [8]], ["1"], readouts=["linear"])
    by_place = analyze(model, DATA, DATA, TASKS, ["1"], readouts=["linear"])
    assert by_name.measurements().equals(by_place.measurements())

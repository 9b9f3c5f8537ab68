"""A user-defined readout: one class in a file, named wherever ours are."""

from contextlib import ExitStack
from itertools import count

import pytest
from probe.by_layer.asked import readouts_of
from tests.scenarios.study.test_probing import RAW, T

from probe.by_layer.jobs import jobs_of, parts_of
from probe.errors import InputError
from probe.readouts.readout import READOUTS
from scenarios.own_code import loaded
from scenarios.study.own import OURS, described_own, known_as_described
from scenarios.study.source import check_study

NUMBER = count()
SOURCE = '''
import probe

@probe.readout("constant", steps="last")
class Constant:
    """Always the same class."""

    label: int = 0

    def predict(self, x, y, test, classes):
        return y.new_full((len(test),), self.label)
'''


def opened(tmp_path, source=SOURCE):
    """Load a file of a new name, as Python keeps modules by theirs."""
    file = tmp_path / f"mine{next(NUMBER)}.py"
    file.write_text(source)
    return loaded([str(file)], OURS)


def study(table):
    return check_study({**RAW, "probing": {"readouts": {"constant": table}}}, "s.toml")


def rows(of):
    return [part for each in jobs_of(of, T) for part in parts_of(of, each) if "constant" in part]


def test_a_study_names_it_only_while_its_file_is_loaded(tmp_path):
    with opened(tmp_path):
        given = study({"label": 1})
        assert given.probing.readouts["constant"].steps == "last"
        assert check_study(given.model_dump(mode="json"), "study.json") == given
        assert list(readouts_of(["constant", "linear"])) == ["constant", "linear"]
        assert {part.split(".")[2].partition("-")[0] for part in rows(given)} == {"constant"}
    with pytest.raises(InputError, match=r"probing\.readouts\.constant: unknown key"):
        study({})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"lable": 1}, r"readouts\.constant\.lable: unknown key: did you mean 'label'"),
        ({"label": "x"}, r"readouts\.constant\.label: expected a whole number"),
    ],
)
def test_its_settings_are_checked_with_their_path(tmp_path, table, message):
    with opened(tmp_path), pytest.raises(InputError, match=message):
        study(table)


def test_its_results_belong_to_its_settings_and_its_source(tmp_path):
    names = []
    for label, source in ((0, SOURCE), (1, SOURCE), (0, SOURCE.replace("new_full", "new_tensor"))):
        with opened(tmp_path, source):
            names.append(set(rows(study({"label": label}))))
    assert all(names)
    assert names[0].isdisjoint(names[1] | names[2])


def test_a_description_names_its_results_without_the_file(tmp_path):
    with opened(tmp_path):
        given = study({"label": 1})
        own, written, expected = described_own(given), given.model_dump(mode="json"), rows(given)
    with known_as_described(own):
        assert rows(check_study(written, "study.json")) == expected
    assert "constant" not in READOUTS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"constant", steps="last"', '"linear"'), "there are two readouts 'linear'"),
        (('"constant"', '"retrain-2"'), "does not begin with retrain"),
        (('"constant"', '"a+bn"'), "has letters, digits, _ and -"),
        (('steps="last"', 'steps="end"'), "unknown rule for steps 'end'"),
        (("def predict", "def read"), "mark a class that has predict"),
        (("label: int", "steps: int"), "has a setting steps"),
    ],
)
def test_a_mark_that_cannot_be_is_refused(tmp_path, change, message):
    with ExitStack() as opening, pytest.raises(InputError, match=message):
        opening.enter_context(opened(tmp_path, SOURCE.replace(*change)))

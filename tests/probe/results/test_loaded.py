"""A study's run directory as a result in Python: the same numbers as its own tables."""

import gzip

import pytest

from figures.plotting import read_source
from probe import Analysis, load
from probe.errors import InputError

FEATURES = ("hidden1", "hidden2", "output")


@pytest.fixture(scope="module")
def found(study):
    result = load(study.root)
    assert isinstance(result, Analysis)
    return result


def test_it_has_the_tables_of_the_run_and_text_that_names_each_learner(study, found):
    assert (found.learners, found.orders) == (("finetune", "joint"), ("there", "back"))
    assert (found.features, found.readouts) == (FEATURES, ("retrain", "linear"))
    assert repr(found).startswith("finetune forgot ")


def test_of_several_learners_one_must_be_named(found):
    for call in (lambda: found.R, lambda: found.matrix("hidden1", "linear")):
        with pytest.raises(
            InputError, match=r"has the methods finetune, joint: say which one"
        ):
            call()
    with pytest.raises(InputError, match="no method 'join' in this analysis"):
        found.matrix("hidden1", "linear", learner="join")


def test_it_is_saved_without_evaluations_and_the_run_is_left_alone(
    study, found, tmp_path
):
    found.save(tmp_path / "kept")
    assert str(load(tmp_path / "kept")) == str(found)
    with pytest.raises(InputError, match="holds something else"):
        found.save(study.root)


def test_a_table_that_changed_since_it_was_written_is_named_by_every_reader(
    study, tmp_path
):
    whole = (study.root / "layers.csv").read_bytes()
    for name in ("study.json", *(path.name for path in study.root.glob("*.csv"))):
        (tmp_path / name).write_bytes((study.root / name).read_bytes())
    layers = tmp_path / "layers.csv"
    for change in (
        whole.replace(b"0.", b"0.1", 1),
        whole[: 2 * len(whole) // 3],
        b"",
        None,
    ):
        layers.unlink()
        if change is not None:
            layers.write_bytes(change)
        for read in (load, read_source):
            with pytest.raises(
                InputError, match=r"layers\.csv.*(run the study|`probe run`)"
            ):
                read(tmp_path)
        layers.write_bytes(whole)
    packed = tmp_path / "layers.csv.gz"
    packed.write_bytes(gzip.compress(whole.replace(b"0.", b"0.1", 1)))
    layers.unlink()
    with pytest.raises(InputError, match="not as it was written"):
        load(tmp_path)
    packed.write_bytes(gzip.compress(whole))
    assert str(load(tmp_path)) == str(load(study.root))


def test_without_a_hash_a_damaged_table_or_a_value_outside_the_vocabulary_is_refused(
    study, tmp_path
):
    (tmp_path / "measurements.csv").write_bytes(
        (study.root / "measurements.csv").read_bytes()
    )
    misspelt = (study.root / "layers.csv").read_bytes().replace(b"never", b"nevar", 1)
    for content, named in ((b"er,x\n", ""), (misspelt, r", line \d+: 'nevar_learned'")):
        (tmp_path / "layers.csv").write_bytes(content)
        with pytest.raises(InputError, match=rf"layers\.csv{named}"):
            load(tmp_path)

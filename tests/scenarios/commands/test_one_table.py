"""One table, whichever way networks come: the same bytes in memory, from files and in a study."""

import importlib
import shutil
import sys

import pytest
import torch

import probe
from tests.scenarios.own_run import OFFLINE, RECIPE, STUDY, TASKS, Own, apart, quiet
from tests.scenarios.table_names import LAYERS

# Of one seed there is no range of layers.
TABLES = (
    "measurements.csv",
    "summary.csv",
    *sorted({*LAYERS} - {"first_layer.csv", "controls.csv"}),
)
ONE = {"seeds": 1, "orders": "none"}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A user's folder with a study of one run, whose learner is called as analyses call it."""
    own = Own(tmp_path_factory.mktemp("own")).written()
    learner = '[learners.model]\nkind = "finetune"'
    (own.folder / "study.toml").write_text(
        STUDY.replace("[learners.finetune]", learner)
    )
    own.keep(own.run(**ONE))
    return own


@pytest.fixture(scope="module")
def code(own):
    sys.path.insert(0, str(own.folder))
    with apart():
        yield importlib.import_module(own.code.stem)
    sys.path.remove(str(own.folder))


def state(path):
    found = torch.load(path, weights_only=True)["state_dict"]
    return {name.removeprefix("model."): value for name, value in found.items()}


def paths(own):
    return {n: own.checkpoints / f"model-order0-seed0-task{n}.pt" for n in (1, 2)}


def network(code, path):
    model = code.build()
    model.load_state_dict(state(path))
    return model


def analyzed(code, models, head=None, **given):
    train, test = (probe.Examples(*half) for half in code.load())
    with quiet():
        return probe.analyze(
            probe.Model(models, fresh=code.build, head=head),
            train,
            test,
            TASKS,
            recipe=probe.Recipe(**RECIPE),
            **given,
        )


def with_out(own, code, out):
    models = {
        tasks_seen: network(code, path) for tasks_seen, path in paths(own).items()
    }
    offline = network(code, own.checkpoints / "offline-0.pt")
    return analyzed(code, models, offline=offline, out=out)


def in_memory(own, code, out):
    with_out(own, code, None).save(out)


def by_paths(own, code, out):
    analyzed(code, paths(own), offline=own.checkpoints / "offline-0.pt").save(out)


def by_pattern(own, code, out):
    pattern = own.checkpoints / "{learner}-order{order}-seed{seed}-task{task}.pt"
    analyzed(code, pattern, offline=own.checkpoints / OFFLINE, out=out)


def by_recorder(own, code, out):
    model = code.build()
    (train, test) = code.load()
    folder = out.with_name("recorded")
    shutil.rmtree(folder, ignore_errors=True)
    rec = probe.Recorder(folder, model, test, TASKS, train=train)
    for tasks_seen, path in paths(own).items():
        model.load_state_dict(state(path))
        rec.after_task(tasks_seen)
    rec.offline(network(code, own.checkpoints / "offline-0.pt"))
    analyzed(code, folder, out=out)


def by_command_and_recorder(own, code, out):
    by_recorder(own, code, out.with_name("analysis"))
    flags = dict.fromkeys(("orders", "offline", "tasks", "data", "checkpoints"))
    own.model(
        str(out), str(out.with_name("recorded")), network=f"{own.code}:build", **flags
    )


WAYS = (
    in_memory,
    with_out,
    by_paths,
    by_pattern,
    # The command reads such a folder, too.
    pytest.param(by_recorder, marks=pytest.mark.soak),
    by_command_and_recorder,
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_tables_are_those_of_the_study(way, own, code):
    out = own.folder / way.__name__
    way(own, code, out)
    for name in TABLES:
        # Examples have no name; a data set has.
        found = (out / name).read_bytes().replace(b"few-digits,", b"data,")
        expected = (
            (own.folder / "study" / name).read_bytes().replace(b"few-digits,", b"data,")
        )
        assert found == expected, name
    assert found.count(b"\n") > 2


def test_networks_that_are_told_the_task_have_one_table(tmp_path, own, code):
    """A study of kind task, with the offline network trained there and trained here."""
    told = Own(tmp_path).written()
    text = (own.folder / "study.toml").read_text("utf-8")
    kind = '[scenario]\nkind = "task-incremental"'
    (tmp_path / "study.toml").write_text(text.replace("[scenario]", kind))
    told.keep(told.run(**ONE))
    analyzed(code, paths(told), "multi", offline="train").save(tmp_path / "found")
    for name in ("measurements.csv", "layers.csv", "statements.csv"):
        expected = (tmp_path / "study" / name).read_bytes()
        expected = expected.replace(b'"few-digits, told the task"', b"data")
        assert (tmp_path / "found" / name).read_bytes() == expected, name

"""One result, whichever way networks come, and alone as among others.

Two small studies train networks in two orders and seeds, or by two learners that receive the
task id. Their checkpoints are measured again: by the command and by `analyze`, in memory
and on disk, from a pattern of files, a recorder's folder and networks in memory, all
together and a part alone. Plan, measurements and every table are those of the study.
"""

import importlib
import shutil
from dataclasses import asdict, dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import probe
from probe.by_layer.jobs import jobs_of
from probe.by_layer.plan import Plan
from probe.errors import InputError
from probe.record.state_files import load_state
from probe.results.predictions import Predictions
from probe.results.records import Records
from probe.results.run_directory import older_tables, read_plan, survey
from probe.results.tables import tables_of
from probe.tables.schemas import SCHEMAS
from scenarios.user_code import importing
from tests.scenarios.own_run import (
    COSTS,
    OFFLINE,
    PATTERN,
    RECIPE,
    SOURCE,
    Own,
    apart,
    quiet,
)

ORDERS = {"0": [1, 2, 3], "1": [2, 3, 1]}
TASKS = [[0, 1], [2, 3], [4, 5]]
NETWORKS = SOURCE.replace("n_class=4", "n_class=6").replace("(8, 4)", "(8, 6)")
STUDY = """
[orders]
{orders}
[scenario]
kind = "{kind}"
data = "few-digits"
tasks = [[0, 1], [2, 3], [4, 5]]
[network]
name = "mine"
[training]
epochs = 1
batch_size = 16
learning_rate = 0.01
[probing]
checkpoints = "all"
controls = ["labels"]
{learners}[learners.model]
kind = "finetune"
[learners.offline]
"""
ER = "[learners.er]\nmemory_per_class = 2\n"
WORLDS = {
    # An order that is not its own inverse.
    "class-incremental": ("0 = [1, 2, 3]\n1 = [2, 3, 1]\n", "", 2),
    "task-incremental": ("0 = [1, 2, 3]\n", ER, 1),
}
CLASS, TASK = WORLDS
LABELS = {"controls": ["labels"]}
FLAGS = dict.fromkeys(("orders", "offline", "tasks", "data", "checkpoints"))
FLAGS["controls"] = "labels"

# What only a training knows; a data set has a name, examples have none; data with the
# task id are others.
UNLIKE_TABLES = {"costs", "times", "learners"}
UNLIKE_PLANS = {"name", "scenario", "kind", "checkpoints", "next", "learners", "data"}


@dataclass(frozen=True)
class World:
    """A study, its checkpoints, and the module with its network and data."""

    own: Own
    head: str | None
    code: object
    study: probe.Analysis

    def network(self, name):
        """Return the network in a checkpoint."""
        network = self.code.build()
        network.load_state_dict(load_state(self.own.checkpoints / name))
        return network


def read(root):
    """Return the tables and measurements of a run directory, whose tables are current."""
    plan = read_plan(root)
    assert older_tables(root, survey(plan, root)) == ""
    return replace(probe.load(root), records=Records.read(root))


@pytest.fixture(scope="module")
def world_of(tmp_path_factory):
    """Return a function that gives the study of a kind; no test may change it."""
    return cache(lambda kind: studied(tmp_path_factory.mktemp(kind), kind))


def studied(folder, kind):
    """Run the study of a kind, and keep its checkpoints as a user would."""
    orders, learners, seeds = WORLDS[kind]
    own = Own(folder).written(NETWORKS)
    study = STUDY.format(kind=kind, orders=orders, learners=learners)
    (folder / "study.toml").write_text(study)
    (folder / "orders.toml").write_text(orders)
    root = own.run(seeds=seeds)
    own.keep(root)
    with apart(), importing(f"{own.code}:build"):
        code = importlib.import_module(own.code.stem)
    head = "multi" if kind == TASK else None
    return World(own=own, head=head, code=code, study=read(root))


def analyzed(world, networks, measure=None, tasks=TASKS, **settings):
    """Analyze networks of the user's."""
    train, test = (probe.Examples(*half) for half in world.code.load())
    with quiet():
        return probe.analyze(
            networks,
            train,
            test,
            tasks,
            readouts=measure or probe.Measure(**LABELS),
            recipe=probe.Recipe(**RECIPE),
            **settings,
        )


def by_files(world, names="*", out="saved", **settings):
    """Analyze the files of some names, and read what was saved or written."""
    folder = world.own.folder / "some"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in world.own.checkpoints.glob(names):
        (folder / path.name).symlink_to(path)
    model = probe.Model(
        folder / PATTERN,
        fresh=world.code.build,
        head=world.head,
        orders=ORDERS,
    )
    settings.setdefault("offline", world.own.checkpoints / OFFLINE)
    out = world.own.folder / out
    if out.name == "written":
        analyzed(world, model, out=out, **settings)
        return read(out)
    analyzed(world, model, **settings).save(out)
    return probe.load(out)


def recorded(world):
    """Return a recorder's folder with the runs of the study."""
    folder = world.own.folder / "recorded"
    train, test = world.code.load()
    jobs = jobs_of(world.study.records.plan)
    for job in () if folder.exists() else jobs:
        if job.offline:
            continue
        model = world.code.build()
        tasks = [TASKS[task] for task in job.tasks]
        recorder = probe.Recorder(
            folder,
            model,
            test,
            tasks,
            train=train,
            head=world.head,
            **job.columns,
        )
        for task in job.steps[1:]:
            name = PATTERN.format(**job.columns, task=task)
            model.load_state_dict(world.network(name).state_dict())
            recorder.after_task(task)
        recorder.offline(world.network(OFFLINE.format(seed=job.seed)))
    return folder


def by_recorder(world, **settings):
    model = probe.Model(recorded(world), fresh=world.code.build)
    return analyzed(world, model, **settings)


def by_recorder_and_command(world, **flags):
    flags = {**FLAGS, "network": f"{world.own.code}:build", **flags}
    return read(world.own.model("by-recorder", str(recorded(world)), **flags))


def one_run(world, network, offline):
    """Analyze networks of one order, made from their files."""
    networks = {}
    for seed in world.study.records.plan.seeds:
        name = f"model-order0-seed{seed}-task{{}}.pt"
        networks[seed] = {t: network(name.format(t)) for t in (1, 2, 3)}
    if len(networks) == 1:
        [networks] = networks.values()
    model = probe.Model(networks, fresh=world.code.build, head=world.head)
    return analyzed(world, model, offline=offline)


def in_memory(world):
    offline = {seed: world.network(OFFLINE.format(seed=seed)) for seed in (0, 1)}
    return one_run(world, world.network, offline)


def by_paths(world):
    """Train the joint network here."""
    return one_run(world, lambda name: world.own.checkpoints / name, "train")


def narrowed(plan, learners=None, features=None, readouts=None, **part):
    """Return the plan of a part of a study."""
    planned = {name: x for name, x in plan.learners.items() if name != learners}
    if features:
        # Blocks are the features: those of a part are others.
        part |= {"hybrids": 0, "inherited": False}
        for name, learner in planned.items():
            planned[name] = learner.model_copy(update={"features": features})
    if readouts:
        part["readouts"] = {name: plan.readouts[name] for name in readouts}
    return plan.model_copy(update={**part, "learners": planned})


WITHOUT_BLOCKS = probe.Measure(**LABELS, hybrids=0, inherited=False)
LINEAR = probe.Measure(**LABELS, readouts=["linear"])
SEED = {"names": "*seed1*"}
ORDER = {"names": "*order1*", "offline": "train"}
SECOND = {"measure": WITHOUT_BLOCKS, "features": ["second"], **SEED}
# A way, its settings, and the part of the study that is measured; for `probe model` with
# two workers see tests/scenarios/commands/test_model_command.py.
WAYS = [
    (CLASS, by_recorder, {}, {}),
    (CLASS, by_recorder_and_command, {}, {}),
    (CLASS, in_memory, {}, {"orders": {"0": (0, 1, 2)}}),
    (CLASS, by_files, SEED, {"seeds": (1,)}),
    (CLASS, by_files, ORDER, {"orders": {"1": (1, 2, 0)}}),
    (CLASS, by_files, SECOND, {"features": ("second", "output"), "seeds": (1,)}),
    (
        CLASS,
        by_files,
        {"measure": LINEAR, **SEED},
        {"readouts": ["linear"], "seeds": (1,)},
    ),
    (TASK, by_recorder, {}, {}),
    (TASK, by_recorder_and_command, {}, {}),
    (TASK, by_paths, {}, {"learners": "er"}),
    (TASK, by_files, {"names": "model*", "out": "written"}, {"learners": "er"}),
]


def facts(measurement):
    """Return what a measurement says of a network, without what is of the moment."""
    cost = measurement.cost and measurement.cost.cost
    return asdict(replace(measurement, cost=cost, seconds=0, code=""))


def assert_same(tables, expected):
    """Check that tables have the same rows, but for what only a training knows."""
    assert tables.keys() == expected.keys() == SCHEMAS.keys()
    for name in SCHEMAS.keys() - UNLIKE_TABLES:
        pd.testing.assert_frame_equal(
            comparable(tables[name]), comparable(expected[name]), obj=name
        )


def comparable(table):
    """Return a table without what only a training knows."""
    if "paper" in table:
        of_costs = table["metric"].str.fullmatch(COSTS)
        table = table[~of_costs].reset_index(drop=True)
    return table.drop(columns=["scenario"], errors="ignore")


@pytest.mark.parametrize(("kind", "way", "settings", "part"), WAYS)
def test_the_result_is_that_of_the_study(world_of, kind, way, settings, part):
    world = world_of(kind)
    analysis = way(world, **settings)
    study = world.study.records
    plan = narrowed(study.plan, **part)
    for name in Plan.model_fields.keys() - UNLIKE_PLANS:
        assert getattr(analysis.records.plan, name) == getattr(plan, name), name
    jobs = jobs_of(plan)
    learners = analysis.records.plan.learners
    for job in jobs:
        stored = {str(key): x for key, x in study.measurements[job.name].items()}
        for key, measurement in analysis.records.measurements[job.name].items():
            expected = stored[str(key)]
            if learners[job.learner].hashes_of(job.order, job.seed):
                expected = replace(expected, cost=None)
            name = f"{job}, {key}"
            np.testing.assert_equal(facts(measurement), facts(expected), name)
    if not part:
        assert_same(analysis.tables(), world.study.tables())
    predictions = Predictions.of(
        plan, ((job, study.measurements[job.name]) for job in jobs)
    )
    assert_same(analysis.tables(), tables_of(predictions))


def test_a_recording_refuses_tasks_that_its_orders_do_not_count(world_of):
    world = world_of(CLASS)
    with pytest.raises(InputError, match="2, 3"):
        by_recorder(world, tasks=TASKS[::-1])
    with pytest.raises(InputError, match="2, 3"):
        by_recorder_and_command(world, tasks="4-5,2-3,0-1")


def test_a_seed_that_has_not_ended_takes_nothing_from_the_others(world_of):
    study = world_of(CLASS).study.records
    begun = [(job, {}) for job in jobs_of(study.plan) if not job.seed]
    kept = narrowed(study.plan, seeds=(1,))
    ended = [(job, study.measurements[job.name]) for job in jobs_of(kept)]
    both = tables_of(Predictions.of(study.plan, begun + ended))
    only = tables_of(Predictions.of(kept, ended))["layers"]
    pd.testing.assert_frame_equal(both["layers"], only)


def test_every_table_has_rows(world_of):
    tables = world_of(CLASS).study.tables()
    assert [name for name, table in tables.items() if table.empty] == []

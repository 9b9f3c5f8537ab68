"""A small study over made data, and a job's folder filled by hand."""

import numpy as np
import torch

from probe.by_layer.engine import measure
from probe.by_layer.measurement import Cost, Key, Measurement, TrainingCost
from probe.by_layer.plan import Plan
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.examples import Examples
from probe.tasked_examples import assign_tasks
from probe.tasks import Scenario, TestExamples
from probe.training.history import History
from probe.values.allocation import CacheSettings
from scenarios.study.plan import plan_of
from scenarios.study.study_file import check_study
from scenarios.study.training import StudyNetworks

CPU = torch.device("cpu")
RAW = {
    "name": "tiny",
    "scenario": {"data": "digits", "classes_per_task": 2},
    "network": {"name": "cnn3"},
    "training": {},
    "learners": {"finetune": {}, "er": {}},
    "report": {"heads": ["multi"]},
}


def scenario(seed=0):
    """Return two tasks of two examples of 2 x 2 pixels each, their own test data."""
    x = torch.rand(4, 1, 2, 2, generator=torch.Generator().manual_seed(seed))
    y = torch.arange(4)
    halves = Examples(x, y), Examples(x.clone(), y.clone())
    return in_tasks("toy", *halves, ((0, 1), (2, 3)))


def in_tasks(name, train, test, tasks):
    """Return a scenario in which tasks may share classes, and examples."""
    of_tasks = {
        "train": [train.of_classes(classes) for classes in tasks],
        "test": [test.of_classes(classes) for classes in tasks],
    }
    return Scenario.of_examples(name, assign_tasks(of_tasks, None))


def made_plan(of=None, stream=None, device=CPU):
    """Return the plan of a study, the one above by default, over a scenario."""
    return plan_of(of or check_study(RAW, "tiny"), stream or scenario(), device)


def named_plan(raw, tasks):
    """Return the plan of a study over tasks that have names and classes, and next to no data."""
    classes = max(max(own) for _, own in tasks) + 1
    data = Examples(torch.zeros(classes, 1), torch.arange(classes))
    stream = in_tasks("", data, data, [own for _, own in tasks])
    plan = plan_of(check_study(raw, "toy"), stream, CPU).model_dump()
    return Plan.model_validate(
        {**plan, "tasks": [{"name": name, "classes": own} for name, own in tasks]}
    )


def record_of(plan, job):
    return plan.record(job.learner, job.order, job.tasks, job.seed, job.without)


def no_offline():
    raise AssertionError("no offline network is needed")


def do(study, plan, job, stream, store, cache=None, offline=no_offline):
    """Make the measurements of a job that are missing and return their keys."""
    source = StudyNetworks(plan=plan, study=study, scenario=stream)
    return list(measure(source, job, store, cache or CacheSettings(), offline))


def measurement(tables, tasks=((0,), (1,)), **details):
    """Return predictions with these confusion counts by head, true classes in rows.

    tasks: the classes of each, disjoint.
    """
    tables = {head: np.array(table) for head, table in tables.items()}
    sizes = next(iter(tables.values())).sum(axis=1)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    predicted = {}
    for head, table in tables.items():
        columns = np.tile(np.arange(table.shape[1]), len(table))
        predicted[head] = np.repeat(columns, table.ravel())
    task_of = {}
    for task, classes in enumerate(tasks):
        task_of |= dict.fromkeys(classes, task)
    test = TestExamples(labels=labels, tasks=np.array([task_of[c] for c in labels]))
    return Measurement(test=test, predicted=predicted, **details)


# A job's folder, and damage to its files

JOB = "er.order-0.seed-0"
OTHER_JOB = "er.order-1.seed-0"
RECORD = {"version": 1, "training": {"epochs": 1}}
COST = Cost(1, 2, 0, 4, 2**60, 2**60 + 1, 5)
TEST = TestExamples(labels=np.array([3, 0, 300, 1, 2]), tasks=np.array([1, 0, 1, 0, 0]))
FIRST = Key(1)
LAST = Key.parse(2, "conv1", "linear", "0123abcd")
MEASURED = Measurement(
    test=TEST,
    predicted={
        "single": np.array([3, 300, 300, 0, 2]),
        "multi": np.array([3, 0, 3, 1, 2]),
    },
    loss={"single": np.array([0.5, np.inf, 0, 65504, 2.0**-24], dtype=np.float16)},
    cost=TrainingCost(cost=COST, seconds=0.1 + 0.2, stuck=True),
    history=History(losses=(0.1 + 0.2, 1e-300), accuracies=(0.5,)),
    values={"dead": 0.1 + 0.2, "rank": float("nan")},
    notes=("it predicts class 3 for every test example", "ä\n"),
    seconds=0.7 + 0.1,
)
MODEL = {
    "weight": torch.tensor([[0.5, -0.0], [1e-30, torch.pi]]),
    "steps": torch.tensor(3),
}
LEARNER = {"memory.y": torch.tensor([1, 2], dtype=torch.int64)}


def outcome(m):
    """Return what no two runs differ in: predictions, losses and cost."""
    predicted = {head: classes.tolist() for head, classes in m.predicted.items()}
    losses = {head: loss.tobytes() for head, loss in m.loss.items()}  # of NaN too
    return predicted, losses, m.cost and m.cost.cost


def same(given, stored, code="code"):
    """Whether a measurement is what was given to be stored, by this code."""

    def arrays(m):
        predicted = [m.predicted[head] for head in sorted(m.predicted)]
        losses = [m.loss[head] for head in sorted(m.loss)]
        return [m.test.labels, m.test.tasks, *predicted, *losses]

    def details(m):
        heads = sorted(m.predicted), sorted(m.loss)
        return *heads, m.cost, m.history, repr(m.values), m.notes, m.seconds

    equal = details(given) == details(stored) and stored.code == code
    return equal and all(map(np.array_equal, arrays(given), arrays(stored)))


def filled(root, job=JOB, record=RECORD):
    """Return a job's store with two measurements in a file, and a checkpoint after 1 and 2 tasks.

    The model in a checkpoint tells whose it is.
    """
    root.mkdir(exist_ok=True)
    store = Store(root, job, record, "code")
    for tasks_seen, key in enumerate((FIRST, LAST), 1):
        store.write(key, MEASURED)
        own = torch.tensor(
            [tasks_seen, len(job), *job.encode(), record["training"]["epochs"]]
        )
        store.save_checkpoint(tasks_seen, {**MODEL, "own": own}, LEARNER)
    store.finish()
    return store


def assert_set_aside(store, *names):
    """Check that these files and no others are in quarantine, each with its note."""
    aside = {path.name for path in (store.root / "quarantine").iterdir()}
    folder = store.folder.relative_to(store.root / "jobs")
    expected = {f"{'.'.join(folder.parts)}.{name}" for name in names}
    assert aside == expected | {f"{name}.txt" for name in expected}
    notes = quarantine_notes(store.root)
    assert len(notes) == len(names)
    for name in names:
        assert not (store.folder / name).exists()
        assert any(note.startswith(f"jobs/{folder}/{name}: ") for note in notes)


def truncated(path):
    path.write_bytes(path.read_bytes()[:-1])

"""A study grows and shrinks: only what is new is computed, and nothing old is lost or mixed in."""

import io
from contextlib import redirect_stdout

import pytest
import torch

from probe.by_layer.code import code_hash
from probe.results import run_directory
from scenarios.commands import run as module
from scenarios.commands.status import show_status
from scenarios.study.training import LearnedNetworks
from tests.scenarios.probed import (
    FINETUNE,
    OFFLINE,
    UNTRAINED,
    checkpoints,
    names,
    tables,
)
from tests.scenarios.tiny_run import PROBED, TINY, measured

STEPS = {*(f"output after {k}" for k in range(3)), "retrain of hidden1 after 2"}
SIMILAR = "diagnostics of hidden1 after 2"
LINEAR = {
    FINETUNE: {"linear of hidden1 after 1", "linear of hidden1 after 2"},
    OFFLINE: {"linear of hidden1 after 2"},
    UNTRAINED: {"linear of hidden1 after 0"},
}
DEFAULT = {
    FINETUNE: {
        *STEPS,
        *LINEAR[FINETUNE],
        SIMILAR,
        "rewound@1 after 2",
        "retrain of hidden1 after 1",
    },
    OFFLINE: STEPS - {"output after 1"} | LINEAR[OFFLINE] | {SIMILAR},
    UNTRAINED: {
        "output after 0",
        "retrain of hidden1 after 0",
        "diagnostics of hidden1 after 0",
        *LINEAR[UNTRAINED],
    },
}


def status(tiny):
    with redirect_stdout(said := io.StringIO()):
        show_status(tiny.root)
    return said.getvalue()


def test_a_study_without_controls_grows_them_and_asked_for_less_shows_less(
    tiny, probed_study, finished_study, monkeypatch
):
    """Every network is in a checkpoint, and those that are not needed are dropped."""
    assert names(probed_study) == DEFAULT
    before = measured(tiny.root)
    with monkeypatch.context() as patch:
        patch.setattr(LearnedNetworks, "_learn", None)
        tiny.ran(PROBED)
    assert before.items() < measured(tiny.root).items()
    assert names(tiny) == DEFAULT
    assert tables(tiny) == tables(probed_study)
    kept = {"first-task/after-1", f"{FINETUNE}/after-2", f"{OFFLINE}/after-2"}
    assert checkpoints(tiny) == checkpoints(probed_study) == kept
    results = tiny.results()
    assert "in no table" not in status(tiny)
    said = tiny.run(TINY)
    assert "results of diagnostics, linear, re" in said
    assert "from an earlier run are kept, but in no table" in said
    assert tiny.results() == results
    assert tables(tiny) == tables(finished_study)


def test_all_checkpoints_or_the_needed_ones_give_the_same_tables(
    kept_study, probed_study
):
    assert tables(kept_study) == tables(probed_study)
    assert checkpoints(kept_study) == checkpoints(probed_study) | {
        f"{FINETUNE}/after-1"
    }


@pytest.mark.parametrize("first", [FINETUNE, OFFLINE])
def test_the_offline_network_is_trained_once_whichever_job_needs_it_first(
    fresh, probed_study, monkeypatch, first
):
    execute = module.execute
    learn = LearnedNetworks._learn
    trained = []

    def noting(networks, learner, task):
        trained.append(len(task.train))
        return learn(networks, learner, task)

    def in_order(work, left, *rest, **named):
        jobs = sorted(left, key=lambda job: (job.name != first, job.offline))
        return execute(work, jobs, *rest, **named)

    monkeypatch.setattr(LearnedNetworks, "_learn", noting)
    monkeypatch.setattr(module, "execute", in_order)
    fresh.ran(PROBED)
    # Two tasks of 20 examples, and once both at once.
    assert trained == ([20, 20, 40] if first == FINETUNE else [40, 20, 20])
    assert tables(fresh) == tables(probed_study)


def test_other_settings_show_nothing_old_say_what_differs_and_lead_back(
    tiny, fresh, finished_study
):
    changed = TINY.replace("epochs = 1", "epochs = 2")
    old = tiny.results()
    said = tiny.run(changed)
    of_fresh = fresh.run(changed)
    both = tiny.results()
    assert tables(tiny) == tables(fresh)
    for shown in (said, status(tiny)):
        [remark] = [line for line in shown.splitlines() if "not shown" in line]
        assert "other results of 2 jobs are kept but not shown: " in remark
        assert "training.epochs is 1 there and 2 here" in remark
    assert "not shown" not in of_fresh
    assert {name: both[name] for name in old} == old
    assert not fresh.results().keys() & old.keys()
    back = tiny.run()
    assert tables(tiny) == tables(finished_study)
    assert tiny.results() == both
    assert "other results of 2 jobs are kept but" in back


def test_the_description_is_of_the_study_whose_tables_are_there(tiny, monkeypatch):
    """Of two processes with other settings on one directory the last to end writes both."""
    execute = module.execute

    def described_meanwhile(work, *arguments, **flags):
        run_directory.describe(work.root, work.plan.model_copy(update={"torch": "9.9"}))
        yield from execute(work, *arguments, **flags)

    monkeypatch.setattr(module, "execute", described_meanwhile)
    tiny.ran()
    assert run_directory.read_plan(tiny.root).torch == torch.__version__


def test_a_corrupt_file_is_named_set_aside_and_made_again(tiny, finished_study):
    """From the checkpoints, and nothing else is."""
    [path] = tiny.root.glob(f"jobs/{FINETUNE}/*/predictions.npz")
    before = tiny.results()
    path.write_bytes(path.read_bytes()[:-1])
    assert f"{FINETUNE}, {path.name}: a corrupt file" in status(tiny)
    said = tiny.run()
    [note] = [line for line in said.splitlines() if "set aside as quarantine/" in line]
    assert (
        f"{path.relative_to(tiny.root)}: its content does not match its checksums"
        in note
    )
    assert tables(tiny) == tables(finished_study)
    after = tiny.results()
    changed = {key for key in before if after[key] != before[key]}
    assert changed == {str(path.relative_to(tiny.root / "jobs"))}


# Results of other code


@pytest.fixture
def other_code(monkeypatch):
    """Let the code of finetune be another from now on."""
    monkeypatch.setattr(
        run_directory,
        "code_hash",
        lambda modules: (
            code_hash(modules) + "x" * ("scenarios.learners.continual" in modules)
        ),
    )


SENTENCE = (
    f"the results of 1 job of 2 were made by code other than today's ({FINETUNE}): "
)


@pytest.mark.usefixtures("other_code")
def test_results_of_other_code_are_shown_and_named_and_made_again_on_request(
    tiny, finished_study
):
    before = tiny.results()
    for said in (status(tiny), tiny.run()):
        assert SENTENCE in said
    assert tables(tiny) == tables(finished_study)
    assert tiny.results() == before
    said = tiny.run(recompute="changed")
    after = tiny.results()
    assert after.keys() == before.keys()
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {name for name in before if name.startswith(FINETUNE)}
    assert tables(tiny) == tables(finished_study)
    for shown in (said, status(tiny), tiny.run(recompute="changed")):
        assert "other code" not in shown
    assert tiny.results() == after


# Tables that were not made of the present results

OLDER = "these tables are outdated: they show earlier results"


class Stopped(Exception):
    """The run ends here, as by a kill."""


@pytest.mark.parametrize(
    ("at", "flags"),
    [
        ("scenarios.commands.run.execute", {"epochs": 2}),
        ("probe.results.tables.write_tables", {"seeds": 2}),
        ("probe.results.tables.write_tables", {"recompute": "changed"}),
        ("scenarios.commands.run.execute", {}),
    ],
)
def test_a_run_that_is_killed_leaves_tables_of_before(
    tiny, probe, monkeypatch, at, flags, request
):
    """Unless it has changed nothing, that is said, and nothing shown is said to be not shown."""
    monkeypatch.setattr("scenarios.commands.figures.build", lambda root: [])
    if "recompute" in flags:
        request.getfixturevalue("other_code")
    before = tables(tiny)

    def stop(*_, **__):
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(at, stop)
        with pytest.raises(Stopped):
            tiny.ran(**flags)
    assert tables(tiny) == before
    _, said, _ = probe(f"figures {tiny.root}")
    assert (OLDER in said) == bool(flags)
    assert "not shown" not in said
    tiny.ran(**flags)
    assert OLDER not in probe(f"figures {tiny.root}")[1]

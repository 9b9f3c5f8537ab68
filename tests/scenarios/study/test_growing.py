"""A study grows and shrinks: only what is new is computed, and nothing old is lost or mixed in."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from dataclasses import replace

import pytest
import torch
from tests.scenarios.study.toy_store import flipped, made_a_folder

from probe.by_layer.code import code_hash
from probe.by_layer.fingerprint import RESULTS_VERSION
from scenarios.commands import run as module
from scenarios.commands.status import show_status
from scenarios.study import run_directory
from tests.scenarios.tiny_run import TINY

FINETUNE, OFFLINE = "finetune.order-there.seed-0", "offline.seed-0"
STEPS = {"step-0", "step-1", "step-2", "feature-hidden1"}
LEARNER = "[learners.er]\nmemory_per_class = 2\n"
ORDERS, FEATURES = (
    ("there = [1, 2]", "there = [1, 2], back = [2, 1]"),
    ('"hidden1"', '"hidden1", "hidden2"'),
)
EVERYTHING = TINY.replace(*ORDERS).replace(*FEATURES) + LEARNER
# What is asked for, and the parts that are new then, by job.
GROWTH = {
    "a seed": (
        *(TINY, {"seeds": 2}),
        {FINETUNE.replace("0", "1"): STEPS, "offline.seed-1": {"step-0", "step-2"}},
    ),
    "a learner": (TINY + LEARNER, {}, {"er.order-there.seed-0": STEPS}),
    "an order": (TINY.replace(*ORDERS), {}, {"finetune.order-back.seed-0": STEPS}),
    "a feature": (TINY.replace(*FEATURES), {}, {FINETUNE: {"feature-hidden2"}}),
}


def said_of_status(tiny) -> str:
    with redirect_stdout(said := io.StringIO()):
        show_status(tiny.root)
    return said.getvalue()


def parts_of(names) -> dict[str, set[str]]:
    """Return the parts among files of jobs, by job."""
    found: dict[str, set[str]] = {}
    for name in names:
        job, _, part = name.removesuffix(".json").split("/")
        if name.endswith(".json") and not part.endswith(("checkpoint", "fingerprint")):
            found.setdefault(job, set()).add(part)
    return found


@pytest.mark.parametrize("growth", GROWTH)
def test_what_is_added_alone_is_computed_and_the_tables_are_those_of_a_fresh_study(
    tiny, fresh, growth
):
    toml, flags, added = GROWTH[growth]
    before = tiny.results()
    said = tiny.run(toml, **flags)
    after = tiny.results()
    assert {name: after.get(name) for name in before} == before
    assert parts_of(after.keys() - before.keys()) == added
    fresh.run(toml, **flags)
    assert tiny.tables() == fresh.tables()
    assert after.keys() == fresh.results().keys()
    assert "aside" not in said


def test_fewer_show_fewer_delete_nothing_and_going_back_computes_nothing(tiny, finished_study):
    tiny.run(EVERYTHING, seeds=2)
    large, results = tiny.tables(), tiny.results()
    for toml, flags in ((TINY, {}), (EVERYTHING, {"seeds": 2})):
        said = tiny.run(toml, **flags)
        assert tiny.tables() == (finished_study.tables() if toml == TINY else large)
        assert tiny.results() == results
        assert "aside" not in said + said_of_status(tiny)
    tiny.run(EVERYTHING, learners="er", seeds=1)
    assert b"finetune" not in b"".join(tiny.tables().values())
    assert tiny.results() == results


# What makes other results, as a TOML file, or as something to patch; and what is said of it.
OTHERS = {
    "epochs": (TINY.replace("epochs = 1", "epochs = 2"), "training.epochs is 1 there and 2 here"),
    "data": (TINY.replace("train_limit = 4", "train_limit = 3"), 'data is "'),
    "network": (TINY.replace('"mlp"', '"cnn3"').replace("hidden1", "conv1"), "network is"),
    "version": (
        ("probe.by_layer.fingerprint.RESULTS_VERSION", RESULTS_VERSION + 1),
        f"version is {RESULTS_VERSION} there and {RESULTS_VERSION + 1} here",
    ),
    "torch": (("torch.__version__", "9.9"), 'there and "9.9" here'),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_settings_show_nothing_old_say_what_differs_and_lead_back(
    tiny, fresh, finished_study, monkeypatch, other
):
    change, difference = OTHERS[other]
    old = tiny.results()
    with monkeypatch.context() as patch:
        if not isinstance(change, str):
            patch.setattr(*change)
        toml = change if isinstance(change, str) else TINY
        said, of_fresh = tiny.run(toml), fresh.run(toml)
        both = tiny.results()
        assert tiny.tables() == fresh.tables()
        assert tiny.run(toml).count("aside") == 1
        assert tiny.results() == both
        for shown in (said, said_of_status(tiny)):
            [remark] = [line for line in shown.splitlines() if "aside" in line]
            assert "other results of 2 jobs are kept aside and not shown: " in remark
            assert difference in remark
        assert "aside" not in of_fresh
    assert {name: both[name] for name in old} == old
    assert not both.keys() & fresh.results().keys() & old.keys()
    back = tiny.run()
    assert tiny.tables() == finished_study.tables()
    assert tiny.results() == both
    assert "other results of 2 jobs are kept aside" in back


def test_settings_of_one_learner_concern_its_jobs_alone(tiny, fresh):
    toml = TINY.replace("[learners.finetune]", "[learners.finetune]\ncompeting = 'task'")
    before = tiny.results()
    said = tiny.run(toml)
    fresh.run(toml)
    assert tiny.tables() == fresh.tables()
    assert parts_of(tiny.results().keys() - before.keys()) == {FINETUNE: STEPS}
    [remark] = [line for line in said.splitlines() if "aside" in line]
    difference = 'learner.competing is "all" there and "task" here'
    assert remark == f"other results of 1 job are kept aside and not shown: {difference}"


def test_the_description_is_of_the_study_whose_tables_are_there(tiny, monkeypatch):
    """Of two processes with other settings on one directory the last to end writes both."""
    execute = module.execute

    def described_meanwhile(work, *arguments, **flags):
        run_directory.describe(work.root, replace(work.setup, torch="9.9"))
        yield from execute(work, *arguments, **flags)

    monkeypatch.setattr(module, "execute", described_meanwhile)
    tiny.run()
    assert run_directory.read_setup(tiny.root).torch == torch.__version__


@pytest.mark.parametrize(
    ("name", "spoil"), [("step-1.json", flipped), ("feature-hidden1.json", made_a_folder)]
)
def test_a_corrupt_part_is_named_set_aside_and_computed_again(tiny, finished_study, name, spoil):
    [path] = tiny.root.glob(f"jobs/{FINETUNE}/*/{name}")
    before = tiny.results()
    spoil(path)
    part = name.removesuffix(".json")
    assert f"{FINETUNE}, {part}: a corrupt file" in said_of_status(tiny)
    said = tiny.run()
    reason = "its content does not match its hash" if spoil == flipped else "it cannot be read"
    [note] = [line for line in said.splitlines() if "set aside as quarantine/" in line]
    assert f"{path.relative_to(tiny.root)}: {reason}" in note
    assert tiny.tables() == finished_study.tables()
    after = tiny.results()
    assert {key for key in before if after[key] != before[key]} == {
        str(path.relative_to(tiny.root / "jobs"))
    }


# Results of other code


@pytest.fixture
def other_code(monkeypatch):
    """Let the code of finetune be another from now on."""
    monkeypatch.setattr(
        run_directory, "code_hash", lambda kind: code_hash(kind) + "x" * (kind == "finetune")
    )


SENTENCE = (
    f"the results of 1 job of 2 were made by other code than today's ({FINETUNE}): `probe run` "
    f"with --recompute changed does them again"
)


@pytest.mark.usefixtures("other_code")
def test_results_of_other_code_are_shown_and_named(tiny, finished_study):
    before = tiny.results()
    assert SENTENCE in said_of_status(tiny).splitlines()
    for _ in range(2):
        assert SENTENCE in tiny.run().splitlines()
        assert tiny.tables() == finished_study.tables()
        assert tiny.results() == before


@pytest.mark.usefixtures("other_code")
def test_figures_name_results_of_other_code(tiny, probe, monkeypatch):
    drawn = [tiny.root / "figures" / "depth.png"]
    monkeypatch.setattr("scenarios.commands.figures.build", lambda root: drawn)
    code, out, err = probe(f"figures {tiny.root}")
    assert (code, out.splitlines(), err) == (0, [str(drawn[0]), SENTENCE], "")
    # Tables alone are drawn without a word.
    os.remove(tiny.root / "study.json")
    assert probe(f"figures {tiny.root}") == (0, f"{drawn[0]}\n", "")


@pytest.mark.usefixtures("other_code")
def test_recompute_changed_does_exactly_those_jobs_again(tiny, finished_study):
    before = tiny.results()
    said = tiny.run(recompute="changed")
    after = tiny.results()
    assert after.keys() == before.keys()
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {
        name for name in before if name.startswith(FINETUNE) and "fingerprint.json" not in name
    }
    assert tiny.tables() == finished_study.tables()
    for shown in (said, said_of_status(tiny), tiny.run(), tiny.run(recompute="changed")):
        assert "other code" not in shown
    assert tiny.results() == after


@pytest.mark.usefixtures("other_code")
def test_a_new_part_by_today_s_code_does_not_hide_the_old_ones(tiny):
    assert SENTENCE in tiny.run(TINY.replace(*FEATURES)).splitlines()

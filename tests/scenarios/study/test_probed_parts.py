"""Floor, ceiling and readings as parts of jobs: what is there, what grows, what stays."""

import json

import pytest

from scenarios.study import job as job_module
from tests.scenarios.probed import (
    FINETUNE,
    OFFLINE,
    UNTRAINED,
    bare,
    checkpoints,
    names,
    parts,
    tables as all_tables,
)
from tests.scenarios.tiny_run import PROBED, TINY, Tiny, probed

EVERYTHING = {
    FINETUNE: {
        *("step-0", "step-1", "step-2", "feature-hidden1"),
        *("row-1.hidden1.linear", "row-2.hidden1.linear", "row-2.hidden1.diagnostics"),
    },
    OFFLINE: {
        *("step-0", "step-2", "row-2.hidden1.retrain", "row-2.hidden1.linear"),
        "row-2.hidden1.diagnostics",
    },
    UNTRAINED: {
        *("step-0", "row-0.hidden1.retrain", "row-0.hidden1.linear"),
        "row-0.hidden1.diagnostics",
    },
}
ALL = probed('checkpoints = "all"')
AT_ALL = probed('readouts = { retrain = "all", linear = "all" }')
OTHER_C = probed("readouts = { retrain = {}, linear = { C = 3.0 } }")


@pytest.fixture(scope="module")
def once(tmp_path_factory) -> Tiny:
    """The study as it is by default; no test may change it."""
    tiny = Tiny(tmp_path_factory.mktemp("probed") / "tiny")
    tiny.run(PROBED)
    return tiny


@pytest.fixture
def trained(monkeypatch) -> list[int]:
    """Return a list in which every training of a task is noted, as its number of examples."""
    noted, learn = [], job_module._learn

    def noting(learner, task):
        noted.append(len(task.train))
        return learn(learner, task)

    monkeypatch.setattr(job_module, "_learn", noting)
    return noted


def new_parts(before, tiny) -> dict[str, set[str]]:
    """Return what is new, by job; what was there must be as it was, its inode and all."""
    after = parts(tiny)
    for job, own in before.items():
        assert {part: after[job].get(part) for part in own} == own
    added = {job: set(own) - before.get(job, {}).keys() for job, own in after.items()}
    return {job: set(map(bare, own)) for job, own in added.items() if own}


def folders(tiny) -> set[str]:
    return {str(path.relative_to(tiny.root)) for path in tiny.root.glob("jobs/*/*/")}


def test_the_floor_is_a_job_of_its_own_and_the_ceiling_a_part_of_offline(once):
    assert names(once) == EVERYTHING


def test_a_directory_of_the_version_before_grows_the_new_parts_only(tiny, once, trained):
    before, old, alone = parts(tiny), tiny.results(), folders(tiny)
    assert new_parts({}, tiny) == {
        FINETUNE: {"step-0", "step-1", "step-2", "feature-hidden1"},
        OFFLINE: {"step-0", "step-2"},
    }
    # Nobody drops the checkpoints, so that no old file of any kind may change.
    tiny.run(ALL)
    added = new_parts(before, tiny)
    assert {job: added[job] | set(map(bare, before.get(job, ()))) for job in added} == EVERYTHING
    after = tiny.results()
    assert {name: after.get(name) for name in old} == old
    assert not trained  # every network is in a checkpoint
    assert alone < folders(tiny)
    assert all_tables(tiny) == all_tables(once)


def test_it_also_grows_without_the_checkpoints_that_are_dropped_then(tiny, once):
    before = parts(tiny)
    tiny.run(PROBED)
    new_parts(before, tiny)
    assert all_tables(tiny) == all_tables(once)
    assert checkpoints(tiny) == checkpoints(once) == {f"{FINETUNE}/step-2", f"{OFFLINE}/step-2"}


def test_asking_for_less_again_shows_less_and_computes_nothing(tiny, finished_study):
    tiny.run(PROBED)
    results = tiny.results()
    tiny.run(TINY)
    assert tiny.results() == results
    assert tiny.tables() == finished_study.tables()
    assert not (tiny.root / "diagnostics.csv").exists()


@pytest.mark.parametrize(
    ("toml", "added"),
    [
        (AT_ALL, {FINETUNE: {"row-1.hidden1.retrain"}}),
        (
            OTHER_C,
            {
                FINETUNE: {"row-1.hidden1.linear", "row-2.hidden1.linear"},
                OFFLINE: {"row-2.hidden1.linear"},
                UNTRAINED: {"row-0.hidden1.linear"},
            },
        ),
        (
            probed("budget = [1, 2]"),
            {
                FINETUNE: {"row-2.hidden1.retrain@2"},
                OFFLINE: {"row-2.hidden1.retrain@2"},
                UNTRAINED: {"row-0.hidden1.retrain@2"},
            },
        ),
        (
            PROBED.replace("[learners.offline]\n", "[learners.offline]\ntraining.epochs = 2\n"),
            {
                FINETUNE: {"row-2.hidden1.diagnostics"},
            },
        ),
    ],
)
def test_asking_for_more_later_computes_what_is_new_alone(once, fresh, toml, added):
    fresh.run(PROBED)
    before = parts(fresh)
    fresh.run(toml)
    assert new_parts(before, fresh) == added
    another = Tiny(fresh.folder / "another")
    another.run(toml)
    assert all_tables(fresh) == all_tables(another)


def test_all_checkpoints_or_the_needed_ones_give_the_same_tables(once, fresh):
    fresh.run(ALL)
    assert all_tables(fresh) == all_tables(once)
    kept = {f"{FINETUNE}/step-1", f"{FINETUNE}/step-2", f"{OFFLINE}/step-2"}
    assert checkpoints(fresh) == kept
    assert checkpoints(once) == kept - {f"{FINETUNE}/step-1"}


@pytest.mark.parametrize("lost", ["step-1", "step-2", "row-1.hidden1.linear", "feature-hidden1"])
def test_what_is_lost_once_its_checkpoint_was_dropped_comes_back_bit_for_bit(fresh, once, lost):
    fresh.run(PROBED)
    [path] = [p for p in fresh.root.glob(f"jobs/{FINETUNE}/*/*.json") if bare(p.stem) == lost]
    content = json.loads(path.read_text())
    path.unlink()
    others = parts(fresh)
    fresh.run(PROBED)
    assert new_parts(others, fresh) == {FINETUNE: {lost}}
    again = json.loads(path.read_text())
    assert {**again, "spent": 0, "sha256": 0} == {**content, "spent": 0, "sha256": 0}
    assert all_tables(fresh) == all_tables(once)
    assert checkpoints(fresh) == checkpoints(once)


@pytest.mark.parametrize("first", [FINETUNE, OFFLINE])
def test_the_offline_network_is_trained_once_whoever_needs_it_first(
    fresh, once, trained, monkeypatch, first
):
    order = {FINETUNE: 0, OFFLINE: 1, UNTRAINED: 2}
    jobs = sorted(order, key=lambda name: (name != first, order[name]))
    from scenarios.commands import run

    execute = run.execute
    monkeypatch.setattr(
        run,
        "execute",
        lambda work, left, *rest, **named: execute(
            work, sorted(left, key=lambda job: jobs.index(job.name)), *rest, **named
        ),
    )
    fresh.run(PROBED)
    # Two tasks of 20 examples, and once both at once.
    assert sorted(trained) == [20, 20, 40]
    assert trained[0] == (20 if first == FINETUNE else 40)
    assert all_tables(fresh) == all_tables(once)


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers_gives_the_same_tables(fresh, once, workers):
    fresh.run(PROBED, executor="pool", workers=workers)
    assert all_tables(fresh) == all_tables(once)
    strip = lambda tiny: {j: set(own) for j, own in parts(tiny).items()}  # noqa: E731
    assert strip(fresh) == strip(once)

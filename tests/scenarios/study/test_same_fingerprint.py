"""The dangerous direction, by really running jobs: one fingerprint, one result, bit for bit."""

from dataclasses import asdict, replace

import pytest
import torch

from probe.by_layer.engine import offline_network
from probe.by_layer.fingerprint import fingerprint
from probe.by_layer.jobs import jobs_of
from probe.by_layer.plan import CONTROLS
from probe.by_layer.store import Store
from probe.errors import InputError
from probe.tasks import Scenario
from probe.training.recipe import RecipeChanges
from probe.values.allocation import CacheSettings
from scenarios.data.datasets import Location
from scenarios.learners.catalog import LEARNERS
from scenarios.study.study_file import check_study
from scenarios.study.training import StudyNetworks
from tests.scenarios.learners.tiny_learners import SMALL
from tests.scenarios.study.toy import do, made_plan, outcome, record_of

RAW = {
    "name": "plain",
    "scenario": {
        "data": "digits",
        "classes_per_task": 5,
        "train_limit": 4,
        "test_limit": 5,
    },
    "network": {"name": "mlp"},
    "training": {"epochs": 1, "batch_size": 8},
    "orders": {"back": [2, 1]},
    "probing": {"checkpoints": "all"},
    "report": {"heads": ["multi"]},
}


def results(raw, learner, root, *, called="", cache=None):
    """Run a learner's job with seed 0, its tasks in reversed order.

    Returns the job's fingerprint, predictions and costs by key, and checkpoints by
    step.
    """
    study = check_study(raw, "plain")
    scenario = study.scenario.scenario(Location())
    if called:
        named = tuple(
            replace(task, name=f"{called} {task.name}") for task in scenario.tasks
        )
        scenario = Scenario(name=called, kind="permutation", tasks=named)
    plan = made_plan(study, scenario)
    # An edit of the training of studies, or of the learner, is other code.
    kind = LEARNERS[plan.learners[learner].kind]
    assert {"scenarios.study.training", kind.__module__} <= {
        *plan.learners[learner].modules
    }
    own = [job for job in jobs_of(plan) if (job.learner, job.seed) == (learner, 0)]
    [job] = [job for job in own if job.offline or job.tasks == (1, 0)]
    root.mkdir()
    store = Store(root, job.name, record_of(plan, job))

    def offline():
        ceiling = next(each for each in jobs_of(plan) if each.learner == "offline")
        source = StudyNetworks(plan=plan, study=study, scenario=scenario)
        return offline_network(source, ceiling, Store(root, ceiling.name, {}))

    do(study, plan, job, scenario, store, cache, offline)
    measured = {key: outcome(m) for key, m in store.measurements().items()}
    states = {t: state for t in job.steps if (state := store.load_checkpoint(t))}
    return fingerprint(record_of(plan, job)), measured, states


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_what_is_not_in_the_fingerprint_changes_no_bit(kind, tmp_path):
    """Every learner once as it is, and once with all that is free changed at a time."""
    own = {"kind": kind, **SMALL.get(kind, {})}
    features = LEARNERS[kind].own_features or ("hidden1", "hidden2", "output")
    plain = {**RAW, "learners": {kind: own}}
    free = kind if kind in CONTROLS else "another_name"
    changed = {
        **RAW,
        "name": "other",
        # The limits cut as much; the order comes among others, under a number.
        "learners": {"finetune": {}, "cumulative": {}, free: own},
        "orders": "rotate",
        "seeds": 2,
        "report": {"heads": ["multi", "all"], "mean": "classes"},
        "network": {
            "name": "cnn3" if LEARNERS[kind].own_features else "mlp",
            "features": [features[len(features) // 2]],
        },
        # Said by the learner, not by the study, and the other way round.
        "training": {"epochs": 2, "batch_size": 8, "init": "torch"},
        "retraining": RAW["training"],
    }
    try:
        changes = check_study(plain, "plain").learners[kind].training or RecipeChanges()
        said = {
            **{name: value for name, value in asdict(changes).items() if value},
            "epochs": 1,
        }
        changed["learners"][free] = {**own, "training": said}
        check_study(changed, "plain")
    except InputError:  # one that has no choice of its recipe
        changed["learners"][free] = own
        changed["training"] = RAW["training"]
    if LEARNERS[kind].offline:
        changed |= {"storage": "bf16", "retraining": {"epochs": 3}}
    cache = CacheSettings(budget=0, scratch=tmp_path / "scratch")
    name, measured, states = results(plain, kind, tmp_path / "plain")
    other_name, found, others = results(
        changed, free, tmp_path / "changed", called="elsewhere", cache=cache
    )
    assert name == other_name
    if LEARNERS[kind].offline:
        # Their tails were retrained otherwise, under other names.
        assert not {key for key in found if key.readout.is_retraining} & measured.keys()
        found = {
            key: own for key, own in found.items() if not key.readout.is_retraining
        }
    # One feature is retrained of several; blocks are other ones where features are.
    put_back = {key for key in found if key.readout.put_back}
    assert put_back.isdisjoint(measured)
    assert {
        key: found[key] for key in found.keys() - put_back
    }.items() <= measured.items()
    assert len(found) >= 2
    assert states.keys() == others.keys()
    for tasks_seen, saved in states.items():
        other = others[tasks_seen]
        for here, there in ((saved.model, other.model), (saved.learner, other.learner)):
            names = here.keys() - {"seconds"}
            assert names == there.keys() - {"seconds"}
            assert all(torch.equal(here[name], there[name]) for name in names)

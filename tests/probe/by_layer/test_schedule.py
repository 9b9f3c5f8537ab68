"""The schedule: which measurements share a pass, and in what order passes are made."""

from probe.by_layer.jobs import keys_of
from probe.by_layer.schedule import HybridPass, LayerPass, OutputPass, schedule
from probe.readouts.pooling import Pooling
from tests.probe.by_layer.test_plan import T, job, plan

NARROW = Pooling(width=30)
PLAN = plan(
    {
        "readouts": {
            "retrain": "all",
            "linear": "all",
            "linear-task": "all",
            "ncm": {},
        },
        "budget": [1, 2],
        "batch_norm": "reestimated",
        "inherited": True,
    }
)
JOB = job(PLAN, "finetune")


def keys_in(work):
    """Return the keys of a pass."""
    match work:
        case OutputPass():
            return [work.key]
        case HybridPass():
            readings = work.readings
            first = work.sets
        case LayerPass():
            readings = work.readings
            first = work.retrainings
    keys = list(first)
    for reading in readings:
        keys += [*reading.readouts, *reading.diagnostics]
    return keys


def passes_after(tasks_seen):
    keys = keys_of(PLAN, JOB)
    return schedule(
        PLAN,
        JOB,
        keys,
        {"linear": NARROW},
    )[tasks_seen]


def test_each_measurement_is_in_one_pass_over_its_own_network():
    keys = keys_of(PLAN, JOB)
    scheduled = []
    for tasks_seen, passes in schedule(
        PLAN,
        JOB,
        keys,
        {},
    ).items():
        for work in passes:
            assert {key.tasks_seen for key in keys_in(work)} == {tasks_seen}
            scheduled += keys_in(work)
    assert sorted(scheduled) == sorted(keys)


def test_outputs_come_first_and_re_estimated_statistics_last():
    kinds = [type(work) for work in passes_after(T)]
    outputs = kinds.count(OutputPass)
    assert kinds == [OutputPass] * outputs + [HybridPass] * (T - 1) + [LayerPass] * 2
    assert [work.reestimates for work in passes_after(T)[-2:]] == [False, True]
    heads = {work.key.feature: work.head for work in passes_after(T)[:outputs]}
    assert heads == {"": None, "output": "multi"}


def test_readouts_of_one_pooling_share_a_pass_and_diagnostics_that_of_the_default():
    *_, layers, _ = passes_after(T)
    narrow, default = layers.readings
    assert {key.readout.base for key in narrow.readouts} == {"linear"}
    assert {key.readout.base for key in default.readouts} == {"linear-task", "ncm"}
    assert (narrow.pooling, default.pooling) == (NARROW, None)
    assert default.diagnostics
    assert not narrow.diagnostics
    assert {key.readout.budget for key in layers.retrainings} == {1, 2}
    # The last network is compared with the earlier ones, by the default pooling.
    *_, earlier, _ = passes_after(1)
    assert [reading.is_compared for reading in earlier.readings] == [False, True]
    assert not any(reading.is_compared for reading in layers.readings)


def test_a_readout_of_a_size_may_have_a_pooling_of_its_own():
    two = plan({"readouts": {"linear": "all", "linear:2": "all"}})
    keys = keys_of(two, job(two, "finetune"))
    layers = schedule(two, JOB, keys, {"linear:2": NARROW})[T][-1]
    poolings = {
        str(key.readout): reading.pooling
        for reading in layers.readings
        for key in reading.readouts
    }
    assert poolings == {"linear": None, "linear:2": NARROW}


def test_blocks_of_each_earlier_network_are_put_back_in_one_pass():
    hybrids = [work for work in passes_after(T) if isinstance(work, HybridPass)]
    assert [work.since for work in hybrids] == [1, 2, 3, 4]
    for work in hybrids:
        assert {key.readout.since for key in keys_in(work)} == {work.since}
        assert len(work.sets) == 1
        # Of a block, and of the blocks upstream, which share the beginnings of passes.
        for reading in work.readings:
            assert len({key.readout.put_back for key in reading.readouts}) == 1


def test_nothing_is_scheduled_over_a_network_of_which_nothing_is_missing():
    keys = [key for key in keys_of(PLAN, JOB) if key.tasks_seen in (0, 2)]
    assert list(
        schedule(
            PLAN,
            JOB,
            keys,
            {},
        )
    ) == [0, 2]
    assert (
        schedule(
            PLAN,
            JOB,
            [],
            {},
        )
        == {}
    )

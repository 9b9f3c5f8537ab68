from probe.tables.rows import TimeRow
from probe.tables.summary import training_seconds


def run(learner, seconds, order="0", seed=0):
    return [
        TimeRow(learner=learner, order=order, seed=seed, step=k, seconds=each)
        for k, each in enumerate(seconds, start=1)
    ]


def test_seconds_are_summed_over_tasks_then_averaged_over_orders_then_seeds():
    """Seed 0 has two orders, of 3 and 5 s, seed 1 one of 10 s: 7 s, not 6."""
    rows = [
        *run("er", [1.0, 2.0]),
        *run("er", [4.0, 1.0], order="1"),
        *run("er", [5.0, 5.0], seed=1),
    ]
    assert training_seconds(rows[::-1]) == {"er": 7.0}


def test_an_unfinished_run_has_no_training_time():
    whole, begun = run("er", [1.0, 2.0]), run("er", [9.0], seed=1)
    assert training_seconds([*whole, *begun, *run("ewc", [5.0])]) == {"er": 3.0}
    offline = TimeRow(learner="offline", order="", seed=0, step=2, seconds=8.0)
    assert training_seconds([*whole, offline]) == {"er": 3.0, "offline": 8.0}
    assert training_seconds([]) == {}

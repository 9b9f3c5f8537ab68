"""Networks that cannot be what they are said to be are noted, and others are not."""

import copy
import math
from collections import OrderedDict
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import probe
from probe.analysis.intervals import Estimate
from probe.analysis.quantities import Terms
from probe.analysis.statements import MARGIN
from probe.results.layers import Layer, layers_of
from probe.results.run_directory import read_plan
from probe.results.statements import Doubts, statement_rows, verdict_of
from probe.results.tables import read_predictions
from probe.results.training_checks import check_trainings
from tests.probe.by_layer.nets import analyzed, finetuned, fresh, offline

STEPS = (1, 2, 3)


def permuted(model):
    """The same with its outputs in another order, as if the labels were."""
    other = copy.deepcopy(model)
    own = other.get_submodule("output")
    with torch.no_grad():
        own.weight.copy_(own.weight.roll(3, 0))
        own.bias.copy_(own.bias.roll(3, 0))
    return other


def notes(models, ceiling):
    found = analyzed(
        models,
        features=["relu2"],
        readouts=["linear"],
        offline=ceiling,
    )
    return "\n".join(found.notes)


def test_networks_that_were_trained_on_these_tasks_have_no_note():
    assert notes({t: finetuned(t) for t in STEPS}, offline()) == ""


def test_labels_in_another_order_are_noted():
    said = notes({t: permuted(finetuned(t)) for t in STEPS}, permuted(offline()))
    assert "in 1 run: its accuracy on the task just learned is near chance" in said
    assert "offline, in 1 run: its accuracy on all tasks is near chance" in said


def test_an_offline_network_below_the_learner_is_no_ceiling():
    """The untrained one is near chance besides; the other way round nothing is said."""
    found = notes({3: offline()}, finetuned())
    assert "it is less accurate than model" in found
    assert "less accurate" not in notes({3: finetuned()}, offline())
    assert "on all tasks is near" in notes({3: offline()}, fresh(1))


def test_chance_of_a_multi_head_run_is_among_the_classes_of_the_task():
    """Two classes of six compete: an accuracy of 1/2 is chance, also on the last task."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        nets = {t: nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 6)) for t in STEPS}
        x = torch.randn(600, 4)
        y = torch.arange(600) % 6
    model = probe.Model(nets, head="multi")
    tasks = [[0, 1], [2, 3], [4, 5]]
    table = probe.analyze(
        model,
        (x, y),
        (x, y),
        tasks,
        ["0"],
        readouts=["ncm"],
    ).to_pandas("notes")
    near = table[
        table["note"].str.contains("near chance") & (table["learner"] == "model")
    ]
    assert sorted(near["tasks_seen"]) == [1, 2, 3]


def test_outputs_that_are_probabilities_are_noted():
    def ending(net):
        own = OrderedDict(copy.deepcopy(net).named_children())
        return nn.Sequential(own | {"softmax": nn.Softmax(1)})

    assert "its outputs are probabilities" in notes(
        {3: ending(finetuned())}, ending(offline())
    )


def leveled(predictions, level_of=lambda job, step: 0.9, pra_of=lambda job: 0.9):
    """Return predictions with other accuracies of the networks themselves."""
    accuracy = list(predictions.accuracy)
    pra = list(predictions.pra)
    for job in predictions.runs:
        for step, row in predictions.output(job).items():
            accuracy[row] = np.full(len(job.tasks), level_of(job, step))
            pra[row] = pra_of(job)
    return replace(predictions, accuracy=accuracy, pra=pra)


@pytest.fixture
def predictions(study):
    return read_predictions(read_plan(study.root), study.root)


def test_a_run_that_collapsed_is_named_and_no_other(predictions):
    first = predictions.runs[0]

    def collapsed(level):
        of_first = leveled(predictions, lambda job, _: level if job == first else 0.9)
        notes, _ = check_trainings(of_first)
        return [n["learner"] for n in notes if n["note"].startswith("it collapsed")]

    assert collapsed(0.9) == []
    assert collapsed(0.7) == []
    assert collapsed(0.3) == [first.learner]


def test_only_seeds_with_all_their_controls_count_as_trainings(predictions):
    jobs = [job for job in predictions.jobs if not (job.offline and job.seed)]
    layers = layers_of(replace(predictions, jobs=jobs))
    for layer in layers:
        assert layer.seeds == (0,)
        assert layer.terms.trainings == 1
    assert layers


@pytest.mark.parametrize("control", ["untrained", "offline"])
def test_a_control_that_has_not_converged_counts_for_every_layer_it_is_of(
    predictions, control
):
    def converged(predictions):
        output = predictions.features(predictions.runs[0])[-1]
        layers = layers_of(predictions)
        hidden = (x for x in layers if x.readout == "linear" and x.feature != output)
        return [layer.converged for layer in hidden]

    unfinished = list(predictions.converged)
    for job in predictions.runs:
        for row in predictions.readouts[job.name].values():
            unfinished[row] &= job.kind != control
    assert all(converged(predictions))
    assert not any(converged(replace(predictions, converged=unfinished)))


def test_what_rests_on_no_ceiling_or_begins_near_chance_is_withheld(predictions):
    """A run that collapsed is near chance, too, and withholds nothing."""
    finetuned_runs = predictions.by_learner()["finetune"]

    def doubts(first, last, top, runs=4):
        levels = {1: first, 2: last}

        def level_of(job, step):
            if job in finetuned_runs[:runs]:
                return levels.get(step, 0.9)
            return 0.9

        def pra_of(job):
            return top if job.kind == "offline" else 0.9

        return check_trainings(leveled(predictions, level_of, pra_of))[1]

    assert doubts(0.9, 0.9, 0.9) == Doubts()
    assert doubts(0.1, 0.1, 0.9, runs=1) == Doubts()
    assert doubts(0.9, 0.1, 0.9) == Doubts()
    assert doubts(0.1, 0.9, 0.9) == Doubts(near_chance=frozenset({"finetune"}))
    assert doubts(0.9, 0.9, 0.5) == Doubts(above_ceiling=True)


OUTPUT = 0.1
HIDDEN = None
YES = Estimate(value=0.5, low=0.4, high=0.6, seeds=3)
FINETUNE = frozenset({"finetune"})
UNCHANGED = Doubts(unchanged=frozenset({("finetune", "hidden1")}))


@pytest.mark.parametrize(
    ("chance", "statement", "doubts", "converged", "expected"),
    [
        (HIDDEN, "forgets", Doubts(), True, "yes"),
        (HIDDEN, "forgets", Doubts(), False, "not converged"),
        # A doubtful output says nothing of hidden layers.
        (HIDDEN, "forgets", Doubts(near_chance=FINETUNE), True, "yes"),
        (OUTPUT, "forgets", Doubts(near_chance=FINETUNE), False, "near chance"),
        (
            OUTPUT,
            "below_ceiling",
            Doubts(near_chance=FINETUNE, above_ceiling=True),
            True,
            "no ceiling",
        ),
        (OUTPUT, "forgets", Doubts(above_ceiling=True), True, "yes"),
        (
            OUTPUT,
            "below_ceiling",
            Doubts(motionless=FINETUNE, above_ceiling=True),
            True,
            "unchanged",
        ),
        (
            HIDDEN,
            "forgets",
            UNCHANGED,
            True,
            "unchanged",
        ),
        (
            HIDDEN,
            "learns_less",
            UNCHANGED,
            True,
            "yes",
        ),
        (
            HIDDEN,
            "forgets",
            Doubts(equal=FINETUNE, motionless=FINETUNE),
            True,
            "equal seeds",
        ),
        (HIDDEN, "learns_less", Doubts(on_ceiling=FINETUNE), True, "equal seeds"),
        (HIDDEN, "forgets", Doubts(on_ceiling=FINETUNE), True, "yes"),
    ],
)
def test_the_first_reason_that_holds_decides(
    chance,
    statement,
    doubts,
    converged,
    expected,
):
    right = np.ones((1, 1, 4), bool)
    terms = Terms(
        tasks=np.array([0, 0, 1, 1]),
        orders=np.array([[0, 1]]),
        after={2: right},
    )
    layer = Layer(
        learner="finetune",
        readout="linear",
        feature="hidden1",
        depth=1,
        seeds=(0,),
        terms=terms,
        converged=converged,
        chance=chance,
    )
    assert verdict_of(layer, statement, YES, MARGIN, doubts) == expected


def test_a_verdict_is_by_the_margin_that_stands_beside_it(monkeypatch):
    """The loss of plasticity is that of a task: its margin is a part of a point."""
    for margin, verdict in ((MARGIN, "no"), (MARGIN / 4, "yes")):
        shown = Estimate(value=MARGIN / 2, low=MARGIN / 3, high=MARGIN / 1.5, seeds=3)
        stated = [("loses_plasticity", shown, margin)]
        monkeypatch.setattr(
            "probe.results.statements._statements_on", lambda _, stated=stated: stated
        )
        monkeypatch.setattr("probe.results.statements._reasons", lambda *_: iter(()))
        (row,) = statement_rows(SimpleNamespace(columns={}), Doubts())
        assert (row["verdict"], row["margin"]) == (verdict, margin)


def test_a_learner_as_good_as_offline_training_in_the_mean_has_its_ceiling(predictions):
    """Where the seeds differ by more than the test set tells, one below its learner is chance."""
    one = next(job for job in predictions.runs if job.offline and job.steps[-1])
    row = predictions.output(one)[one.last]

    def checked(*tops, head="single"):
        jobs = []
        pra = []
        accuracy = predictions.accuracy[row]
        for seed, top in enumerate(tops):
            jobs.append(
                replace(
                    one,
                    learner="offline",
                    kind="offline",
                    seed=seed,
                )
            )
            other = replace(
                one,
                learner="finetune",
                kind="finetune",
                offline=False,
            )
            jobs.append(replace(other, seed=seed, task_aware=head == "multi"))
            pra += [top, 0.8]
        outputs = {
            (job.name, head if job.task_aware else "single"): {one.last: index}
            for index, job in enumerate(jobs)
        }
        drawn = replace(
            predictions,
            jobs=jobs,
            pra=pra,
            accuracy=[accuracy] * len(jobs),
            outputs=outputs,
        )
        return check_trainings(drawn)

    def is_below(*tops, head="single"):
        return checked(*tops, head=head)[1].above_ceiling

    # Two standard errors of a difference: all seeds are tested on the same examples.
    border = 2 * math.sqrt(2 * 0.8 * 0.2 / len(predictions.test_examples.labels))
    assert is_below(0.8 - 1.1 * border, 0.8 - 1.1 * border)
    assert not is_below(0.8 - border / 1.1, 0.8 - border / 1.1)
    assert is_below(0.5, 0.55, 0.52)
    assert not is_below(0.5, 0.95, 0.9)
    notes, _ = checked(0.5, 0.81, 0.5, 0.5, 0.5)
    less = [row["seed"] for row in notes if "it is less accurate" in row["note"]]
    assert less == [0, 2, 3, 4]
    # Fewer classes compete: no comparison.
    assert not is_below(0.5, 0.55, 0.52, head="multi")


def test_guessing_a_single_class_is_no_sign_of_chance(predictions):
    plan = predictions.plan
    run = predictions.by_learner()["finetune"][0]

    def steps_near_chance(classes, level=0.4):
        tasks = list(plan.tasks)
        first, second = run.tasks
        tasks[first] = tasks[first].model_copy(update={"classes": classes})
        others = tuple(range(2, 10))
        tasks[second] = tasks[second].model_copy(update={"classes": others})
        changed = plan.model_copy(update={"tasks": tuple(tasks)})
        of_run = replace(
            predictions,
            plan=changed,
            jobs=[run],
        )
        notes, _ = check_trainings(leveled(of_run, lambda job, step: level))
        return {row["tasks_seen"] for row in notes if "near chance" in row["note"]}

    assert steps_near_chance((0,)) == set()
    assert steps_near_chance((0, 1)) == {1}
    size, *_ = predictions.test_sizes(run)
    border = 2 * math.sqrt(0.25 / size)
    below = 0.5 + border / 1.1
    above = 0.5 + border * 1.1
    assert steps_near_chance((0, 1), below) == {1}
    assert steps_near_chance((0, 1), above) == set()

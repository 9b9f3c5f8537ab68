"""Networks that cannot be what they are said to be are noted, and others are not."""

import copy
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import probe
from probe.analysis.statements import STATEMENTS, UNFINISHED
from probe.by_layer.head_predictions import Head
from probe.results.layers import layers_of
from probe.results.repeats import EQUAL, repeated_networks
from probe.results.result import JobResult
from probe.results.run_directory import read_plan
from probe.results.tables import read_results
from probe.results.training_checks import check_trainings
from tests.probe.by_layer.nets import analyzed, finetuned, fresh, offline
from tests.scenarios.tiny_run import Tiny

STEPS = (1, 2, 3)


def permuted(model: nn.Sequential) -> nn.Sequential:
    """The same with its outputs in another order, as if the labels were."""
    other = copy.deepcopy(model)
    own = other.get_submodule("output")
    with torch.no_grad():
        own.weight.copy_(own.weight.roll(3, 0))
        own.bias.copy_(own.bias.roll(3, 0))
    return other


def notes(models: dict[int, nn.Module], ceiling: nn.Module) -> str:
    found = analyzed(models, features=["relu2"], readouts=["linear"], offline=ceiling)
    return "\n".join(found.notes)


def test_networks_that_were_trained_on_these_tasks_have_no_note() -> None:
    assert notes({t: finetuned(t) for t in STEPS}, offline()) == ""


def test_labels_in_another_order_are_noted() -> None:
    said = notes({t: permuted(finetuned(t)) for t in STEPS}, permuted(offline()))
    assert "in 1 run: its accuracy on the task just learned is near chance" in said
    assert "offline, in 1 run: its accuracy on all tasks is near chance" in said


def test_an_offline_network_below_the_learner_is_no_ceiling() -> None:
    """The untrained one is near chance besides; the other way round nothing is said."""
    found = notes({3: offline()}, finetuned())
    assert "it is less accurate than model, and no ceiling" in found
    assert "no ceiling" not in notes({3: finetuned()}, offline())
    assert "on all tasks is near" in notes({3: offline()}, fresh(1))


def test_chance_of_a_multi_head_run_is_among_the_classes_of_the_task() -> None:
    """Two classes of six compete: an accuracy of 1/2 is chance, also on the last task."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        nets = {t: nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 6)) for t in STEPS}
        x, y = torch.randn(600, 4), torch.arange(600) % 6
    model, tasks = probe.Model(nets, head="multi"), [[0, 1], [2, 3], [4, 5]]
    table = probe.analyze(
        model, (x, y), (x, y), tasks, ["0"], readouts=["ncm"]
    ).to_pandas("notes")
    near = table[
        table["note"].str.contains("near chance") & (table["learner"] == "model")
    ]
    assert sorted(near["tasks_seen"]) == [1, 2, 3]


def test_outputs_that_are_probabilities_are_noted() -> None:
    def ending(net: nn.Sequential) -> nn.Sequential:
        own = OrderedDict(copy.deepcopy(net).named_children())
        return nn.Sequential(own | {"softmax": nn.Softmax(1)})

    assert "its outputs are probabilities" in notes(
        {3: ending(finetuned())}, ending(offline())
    )


def test_a_run_that_collapsed_is_named_and_no_other(study: Tiny) -> None:
    results = list(read_results(read_plan(study.root), study.root))

    def collapsed(*levels: float) -> list[str]:
        made = []
        for result, level in zip(
            results, (*levels, *[0.9] * len(results)), strict=False
        ):
            scores = result.output.items()
            own = {t: replace(each, accuracy=np.full(2, level)) for t, each in scores}
            made.append(replace(result, outputs={"single": own}))
        return [
            note["learner"]
            for note in check_trainings(made)[0]
            if note["note"].startswith("it collapsed")
        ]

    assert (collapsed(), collapsed(0.7), collapsed(0.3)) == (
        [],
        [],
        [results[0].job.learner],
    )


@pytest.mark.parametrize("control", ["untrained", "offline"])
def test_a_control_that_has_not_converged_counts_for_every_layer_it_is_of(
    study, control
) -> None:
    results = list(read_results(read_plan(study.root), study.root))

    def unfinished(result: JobResult) -> JobResult:
        scores = {
            key: replace(s, notes=(UNFINISHED,)) for key, s in result.downstream.items()
        }
        return (
            replace(result, downstream=scores) if result.job.kind == control else result
        )

    def converged(results: list[JobResult]) -> list[bool]:
        output, layers = results[0].features[-1], layers_of(results)
        return [
            x.converged for x in layers if x.readout == "linear" and x.feature != output
        ]

    assert all(converged(results))
    assert not any(converged([unfinished(result) for result in results]))


def test_what_rests_on_no_ceiling_or_begins_near_chance_is_withheld(
    study: Tiny,
) -> None:
    """A run that collapsed is near chance, too, and withholds nothing."""
    results = list(read_results(read_plan(study.root), study.root))

    def found(
        first: float, last: float, top: float, runs: int = 4
    ) -> dict[tuple[str, str], str]:
        made, levels = [], {1: first, 2: last}
        for r in results:
            own = r.job.learner == "finetune" and (runs := runs - 1) >= 0
            each = {t: np.full(2, levels.get(t, 0.9) if own else 0.9) for t in r.output}
            pra = top if r.job.kind == "offline" else 0.9
            output = {
                t: replace(s, accuracy=each[t], pra=pra) for t, s in r.output.items()
            }
            made.append(replace(r, outputs={"single": output}))
        return dict(check_trainings(made)[1])

    assert (
        found(0.9, 0.9, 0.9)
        == found(0.1, 0.1, 0.9, runs=1)
        == found(0.9, 0.1, 0.9)
        == {}
    )
    assert found(0.1, 0.9, 0.9) == {
        ("finetune", name): "near chance" for name in STATEMENTS
    }
    resting = [
        (x, s) for x in ("finetune", "joint") for s in STATEMENTS if s != "forgets"
    ]
    assert found(0.9, 0.9, 0.5) == dict.fromkeys(resting, "no ceiling")


def test_nothing_is_stated_of_seeds_that_are_the_same_training(study: Tiny) -> None:
    plan = read_plan(study.root)
    results = list(read_results(plan, study.root))
    assert "equal seeds" not in repeated_networks(plan, results)[1].values()
    run = next(r for r in results if r.job.learner == "finetune")
    notes, withheld = repeated_networks(
        plan, [run, replace(run, job=replace(run.job, seed=7))]
    )
    assert [(note["seed"], note["note"]) for note in notes] == [
        (7, EQUAL.format(run.job.seed))
    ]
    keys = {
        ("finetune", feature, name) for feature in run.features for name in STATEMENTS
    }
    assert (withheld.keys(), {*withheld.values()}) == (keys, {"equal seeds"})


def test_a_learner_as_good_as_offline_training_in_the_mean_has_its_ceiling(
    study: Tiny,
) -> None:
    """Where the seeds differ by more than the test set tells, one below its learner is chance."""
    one, *_ = (
        r for r in read_results(read_plan(study.root), study.root) if r.job.offline
    )

    def below(*tops: float, head: Head = "single") -> bool:
        made, heads = [], {"finetune": head}
        for seed, top in enumerate(tops):
            for kind, pra in (("offline", top), ("finetune", 0.8)):
                job = replace(
                    one.job,
                    learner=kind,
                    kind=kind,
                    seed=seed,
                    offline=kind == "offline",
                )
                own = heads.get(kind, "single")
                job = replace(job, task_aware=own == "multi")
                output = {t: replace(s, pra=pra) for t, s in one.output.items()}
                made.append(replace(one, job=job, outputs={own: output}))
        return "no ceiling" in check_trainings(made)[1].values()

    assert below(0.5, 0.55, 0.52)
    assert not below(0.5, 0.95, 0.9)
    assert not below(
        0.5, 0.55, 0.52, head="multi"
    )  # fewer classes compete: no comparison


def test_guessing_a_single_class_is_no_sign_of_chance(study: Tiny) -> None:
    results = list(read_results(read_plan(study.root), study.root))
    one = next(each for each in results if each.job.learner == "finetune")

    def noted(first: tuple[int, ...]) -> set[int | None]:
        output = {
            t: replace(s, accuracy=np.full(2, 0.4)) for t, s in one.output.items()
        }
        tasks = (("a", first), ("b", tuple(range(2, 10))))
        found, _ = check_trainings(
            [replace(one, tasks=tasks, outputs={"single": output})]
        )
        return {row["tasks_seen"] for row in found if "near chance" in row["note"]}

    assert (noted((0,)), noted((0, 1))) == (set(), {1})

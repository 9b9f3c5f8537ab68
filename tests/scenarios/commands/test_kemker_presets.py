"""The presets of Kemker 2018 against the paper's section on experiments and its supplement."""

from __future__ import annotations

import pytest
from torch import nn

from probe.training.loop import Recipe
from scenarios.data.datasets import Location
from scenarios.learners.kemker.fel import FelSettings
from scenarios.learners.kemker.geppnet import MapSettings
from scenarios.learners.kemker.geppnet_stm import GeppnetStmSettings
from scenarios.learners.kemker.pathnet import PathNetSettings
from scenarios.networks import build_network
from scenarios.study.scenario_spec import IncrementalSpec, MultimodalSpec, PermutationSpec
from scenarios.study.source import check_study, preset_names, read_study
from scenarios.study.spec import Study

PERMUTATION = ("kemker-mnist-permutation", "kemker-mnist-layers", "kemker-digits-permutation")
INCREMENTAL = ("kemker-mnist-incremental", "kemker-digits-incremental")
MULTIMODAL = ("kemker-multimodal", "kemker-features", "kemker-digits-multimodal")
EVERY = (*PERMUTATION, *INCREMENTAL, *MULTIMODAL)
DIGITS = tuple(name for name in EVERY if "digits" in name)
FULL = tuple(name for name in EVERY if name not in DIGITS)

SUPPLEMENT = {
    "finetune": ("nadam", 8e-4, 256),
    "ewc": ("adam", 2e-4, 250),
    "pathnet": ("adam", 2e-3, 16),
    "fel": ("adam", 2e-2, 256),
}
"""Optimizer, initial learning rate and mini-batch size."""

DEVIATIONS = {
    ("kemker-mnist-incremental", "fel"): ("adam", 2e-3, 256),
    # A fiftieth of the data: smaller batches, for which FEL's rate is too fast.
    **{(name, "finetune"): ("nadam", 8e-4, 32) for name in DIGITS},
    **{(name, "ewc"): ("adam", 2e-4, 32) for name in DIGITS},
    **{(name, "fel"): ("adam", 2e-3, 32) for name in DIGITS},
}
"""What the presets say they do otherwise."""


def preset(name: str) -> Study:
    return check_study(read_study(name), name)


def of_the_supplement(recipe: Recipe) -> tuple[str, float, int]:
    return recipe.optimizer, recipe.learning_rate, recipe.batch_size


def test_these_are_all_of_kemkers_presets() -> None:
    assert {name for name in preset_names() if name.startswith("kemker-")} == set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_the_network_is_two_hidden_layers_of_400_relu_units(name: str) -> None:
    net = build_network(preset(name).network.name, (1, 28, 28), 10)
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in layers] == [
        *((784, 400), (400, 400), (400, 10))
    ]
    assert sum(isinstance(module, nn.ReLU) for module in net.modules()) == 2


@pytest.mark.parametrize("name", EVERY)
def test_the_recipes_are_the_supplements_or_a_stated_deviation(name: str) -> None:
    study = preset(name)
    for learner in SUPPLEMENT.keys() & study.learners.keys():
        expected = DEVIATIONS.get((name, learner), SUPPLEMENT[learner])
        assert of_the_supplement(study.recipe_of(learner)) == expected, learner
    # The ideal is the MLP trained offline.
    assert study.recipe_of("offline") == study.recipe_of("finetune") == study.training


def test_pathnet_has_two_layers_of_ten_modules_five_of_them_active() -> None:
    for name in (*PERMUTATION, *MULTIMODAL):
        study = preset(name)
        own = study.learners["pathnet"]
        assert isinstance(own, PathNetSettings)
        assert (own.modules, own.active, own.width) == (10, 5, 80)
        chosen = study.model_copy(
            update={"network": study.network.model_copy(update={"features": None})}
        )
        assert len(chosen.features_of("pathnet")) == 2 + 1


@pytest.mark.parametrize("name", EVERY)
def test_geppnet_has_the_supplements_map(name: str) -> None:
    """With a quarter of the iterations on digits; table 2's sizes give the memory."""
    study = preset(name)
    maps = [own for own in study.learners.values() if isinstance(own, MapSettings)]
    assert len(maps) == (1 if name == "kemker-mnist-layers" else 2)
    iterations = (20_000, 5_000) if name in DIGITS else (80_000, 20_000)
    for own in maps:
        assert (own.rows, own.columns) == (23, 23)
        assert (own.som_rate, own.readout_rate, own.threshold) == (0.1, 1e-3, 0.5)
        assert (own.base_iterations, own.iterations) == iterations
        if isinstance(own, GeppnetStmSettings):
            assert own.memory == 300


@pytest.mark.parametrize("name", EVERY)
def test_fel_has_1200_units_for_two_modalities_and_else_2000(name: str) -> None:
    own = preset(name).learners["fel"]
    assert isinstance(own, FelSettings)
    two = name in MULTIMODAL and name not in DIGITS
    assert (own.hidden, own.units) == (400, 1200 if two else 2000)


@pytest.mark.parametrize("name", EVERY)
def test_every_mechanism_is_there_but_pathnet_where_the_task_is_the_label(name: str) -> None:
    expected = {*("finetune", "ewc", "pathnet", "geppnet", "geppnet_stm", "fel", "offline")}
    if name in INCREMENTAL:
        expected.remove("pathnet")
    if name == "kemker-mnist-layers":
        expected.remove("geppnet_stm")
    assert {own.kind for own in preset(name).learners.values()} == expected


def test_the_scenarios_are_the_papers_three() -> None:
    """Of the permutation experiment the paper gives no number of sessions: ours are ten."""
    for name in EVERY:
        spec = preset(name).scenario
        limit = 1000 if name in ("kemker-mnist-layers", "kemker-multimodal") else None
        assert (spec.train_limit, spec.test_limit, spec.validation) == (limit, None, None), name
        if name in PERMUTATION:
            assert isinstance(spec, PermutationSpec)
            assert spec.sessions == (5 if name in DIGITS else 10)
        elif name in INCREMENTAL:
            assert isinstance(spec, IncrementalSpec)
            assert spec.base is None
        else:
            assert isinstance(spec, MultimodalSpec)
        if name not in MULTIMODAL:
            assert spec.data == ("digits" if name in DIGITS else "mnist")


def test_no_base_is_half_of_the_classes() -> None:
    scenario = preset("kemker-digits-incremental").scenario.scenario(Location())
    classes = [task.classes for task in scenario.tasks]
    assert classes == [(0, 1, 2, 3, 4), (5,), (6,), (7,), (8,), (9,)]


@pytest.mark.parametrize("name", EVERY)
def test_orders_heads_and_mean(name: str) -> None:
    """Either modality is first once; who is told the session is compared multi-head."""
    study = preset(name)
    assert study.orders == ("rotate" if name in MULTIMODAL else "none")
    assert study.report.mean == "classes"
    heads = {**dict.fromkeys(PERMUTATION, ("multi",)), **dict.fromkeys(INCREMENTAL, ("single",))}
    assert study.report.heads == heads.get(name, ("multi", "single"))


def test_what_deviates_is_no_more_than_is_stated() -> None:
    """The negative control: each deviation is one, of a learner that its preset has."""
    for (name, learner), recipe in DEVIATIONS.items():
        assert recipe != SUPPLEMENT[learner]
        assert learner in preset(name).learners
    assert {name for name, _ in DEVIATIONS} & set(FULL) == {"kemker-mnist-incremental"}

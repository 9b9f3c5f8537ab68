"""The presets of Kemker 2018 against the paper's section on experiments and its supplement."""

from __future__ import annotations

import pytest
from torch import nn

from scenarios.networks import build_network
from scenarios.study.spec import Study
from scenarios.study.study_file import check_study, preset_names, read_study

EVERY = tuple(name for name in preset_names() if name.startswith("kemker-"))
INCREMENTAL = ("kemker-mnist-incremental", "kemker-digits-incremental")
MULTIMODAL = ("kemker-multimodal", "kemker-features", "kemker-digits-multimodal")
PERMUTATION = tuple(name for name in EVERY if name not in INCREMENTAL + MULTIMODAL)
DIGITS = tuple(name for name in EVERY if "digits" in name)

# Optimizer, initial learning rate and mini-batch size.
SUPPLEMENT = {
    "finetune": ("nadam", 8e-4, 256),
    "ewc": ("adam", 2e-4, 250),
    "pathnet": ("adam", 2e-3, 16),
    "fel": ("adam", 2e-2, 256),
}
# A fiftieth of the data: smaller batches, for which FEL's rate is too fast.
ON_DIGITS = {"finetune": ("nadam", 8e-4, 32), "ewc": ("adam", 2e-4, 32), "fel": ("adam", 2e-3, 32)}
DEVIATIONS = {
    "kemker-mnist-incremental": {"fel": ("adam", 2e-3, 256)},
    **dict.fromkeys(DIGITS, ON_DIGITS),
}


def preset(name: str) -> Study:
    return check_study(read_study(name), name)


@pytest.mark.parametrize("name", EVERY)
def test_the_network_and_the_recipes_are_the_supplements_or_a_stated_deviation(name: str) -> None:
    """Two hidden layers of 400 ReLU units."""
    study = preset(name)
    net = build_network(study.network.name, (1, 28, 28), 10)
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    shapes = [(layer.in_features, layer.out_features) for layer in layers]
    assert shapes == [(784, 400), (400, 400), (400, 10)]
    assert sum(isinstance(module, nn.ReLU) for module in net.modules()) == 2
    for learner in SUPPLEMENT.keys() & study.learners.keys():
        recipe = study.recipe_of(learner)
        expected = DEVIATIONS.get(name, {}).get(learner, SUPPLEMENT[learner])
        assert (recipe.optimizer, recipe.learning_rate, recipe.batch_size) == expected, learner
    # The ideal is the MLP trained offline.
    assert study.recipe_of("offline") == study.recipe_of("finetune") == study.training


@pytest.mark.parametrize("name", EVERY)
def test_the_scenarios_are_the_papers_three(name: str) -> None:
    """Of the permutation experiment the paper gives no number of sessions: ours are ten.

    Either modality is first once; a learner that is told the session is compared multi-head.
    """
    study, spec = preset(name), preset(name).scenario
    limit = 1000 if name in ("kemker-mnist-layers", "kemker-multimodal") else None
    assert (spec.train_limit, spec.test_limit, spec.validation) == (limit, None, None)
    assert (study.orders, study.report.mean) == (
        "rotate" if name in MULTIMODAL else "none",
        "classes",
    )
    kind, heads, own = (
        ("permutation", ("multi",), {"sessions": 5 if name in DIGITS else 10})
        if name in PERMUTATION
        else ("incremental", ("single",), {"base": None})
        if name in INCREMENTAL
        else ("multimodal", ("multi", "single"), {})
    )
    if name not in MULTIMODAL:
        own["data"] = ("digits" if name in DIGITS else "mnist",)
    assert (spec.kind, study.report.heads) == (kind, heads)
    assert {field: getattr(spec, field) for field in own} == own

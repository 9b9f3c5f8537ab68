"""The presets against what their papers and supplements say."""

import pytest
from torch import nn

from probe.errors import InputError
from probe.training.loop import Recipe
from scenarios.learners.catalog import settings_of
from scenarios.networks import build_network
from scenarios.study.spec import ReportSpec
from scenarios.study.study_file import check_study
from scenarios.study.study_toml import preset_names, read_study, variant_names

# The preset and the variant of each study, by the study's name.
CALLS = {}
for call in preset_names():
    for each in (None, *variant_names(call)):
        CALLS[read_study(call, each)["name"]] = (call, each)
SMALL = sorted(name for name in CALLS if name.endswith("-small"))


def preset(name):
    return check_study(read_study(*CALLS[name]), name)


def recipe_of(study, learner="finetune"):
    recipe = study.recipe_of(learner)
    return recipe.optimizer, recipe.learning_rate, recipe.batch_size


def kinds(study):
    return {settings.kind for settings in study.learners.values()}


def test_every_study_has_a_name_which_is_a_preset_or_tells_the_call():
    assert len(CALLS) == 45
    for name, (preset_name, variant) in CALLS.items():
        study = preset(name)
        assert study.name == name
        if preset_name != name:
            with pytest.raises(InputError) as refusal:
                read_study(name)
            assert f"probe run {preset_name}" in str(refusal.value)
            assert (variant or "") in str(refusal.value)


@pytest.mark.parametrize(
    ("data", "network", "features", "epochs", "memory"),
    [
        ("mnist", "cnn3", 4, 5, 128),
        ("svhn", "reduced_resnet18", 6, 10, 128),
        ("cifar10", "reduced_resnet18", 6, 10, 512),
    ],
)
def test_murata(data, network, features, epochs, memory):
    """Section 3: five rotations, five seeds, Adam 0.001, He and N(0, 0.01^2), all six learners."""
    study = preset(f"murata-{data}")
    spec = study.scenario
    recipe = study.training
    assert (spec.data, spec.classes_per_task) == ((data,), 2)
    assert (spec.train_limit, spec.test_limit, spec.validation) == (None, None, None)
    assert (study.network.name, len(study.features_of("finetune"))) == (
        network,
        features,
    )
    assert recipe == study.retraining_recipe == Recipe(init="murata", epochs=epochs)
    assert (recipe.optimizer, recipe.learning_rate, Recipe().epochs) == (
        "adam",
        0.001,
        5,
    )
    assert (study.orders, study.seeds) == ("rotate", (0, 1, 2, 3, 4))
    assert kinds(study) == {"finetune", "offline", "si", "lwf", "gem", "er"}
    assert (study.learners["si"].strength, study.learners["lwf"].strength) == (1, 1)
    assert study.learners["er"] == settings_of(
        {"kind": "er", "memory_per_class": memory}
    )
    assert study.learners["gem"].memory_per_class == memory
    assert study.report == ReportSpec()


@pytest.mark.parametrize("head", ["single", "multi"])
@pytest.mark.parametrize(
    ("data", "network", "classes", "samples"),
    [("mnist", "mlp", 2, 10), ("cifar100", "cnn4", 10, 25)],
)
def test_chaudhry(data, network, classes, samples, head):
    """Section 5: Adam 0.001, batches of 64; 10 and 25 samples of each class by mean of features."""
    study = preset(f"chaudhry-{data}-{head}")
    assert (study.scenario.data, study.scenario.classes_per_task) == ((data,), classes)
    assert study.network.name == network
    assert recipe_of(study) == ("adam", 0.001, 64)
    assert study.report.heads[0] == head
    assert {"ewc_online", "si", "rwalk", "cumulative"} <= kinds(study)
    every = study.learners.values()
    stored = {
        (s.budget.per_class, s.budget.total, s.budget.sampling)
        for s in every
        if s.budget
    }
    if head == "single":
        assert {"icarl", "icarl_hybrid1"} <= kinds(study)
        assert stored == {(samples, None, "mean_of_features")}
        with_and_without = {(s.kind, s.budget is not None) for s in every}
        for kind in ("finetune", "ewc_online", "si"):
            assert {(kind, True), (kind, False)} <= with_and_without
    else:
        assert not stored
        assert {s.loss_classes for s in every if s.kind != "cumulative"} == {"task"}


def test_diaz_rodriguez():
    """Section 3 and appendix A: ten tasks of ten classes, 4 conv + 2 dense layers, three runs."""
    study = preset("diaz-cifar100")
    assert (study.scenario.data, study.scenario.classes_per_task) == (("cifar100",), 10)
    assert (study.network.name, study.seeds) == ("cnn6", (1, 2, 3))
    assert kinds(study) == {"finetune", "cumulative", "ewc", "lwf", "si"}
    assert {settings.budget for settings in study.learners.values()} == {None}


@pytest.mark.parametrize(
    ("scenario", "penalty", "c"),
    [("class", 100, 5), ("domain", 1000, 500), ("task", 1000, 100)],
)
def test_vandeven(scenario, penalty, c):
    """Table 3 and Methods: ten contexts, 2 x 2,000 units, 5,000 iterations of 256, Adam 1e-4."""
    study = preset(f"vandeven-cifar100-{scenario}")
    assert (study.network.name, study.scenario.classes_per_task) == ("mlp2000", 10)
    assert build_network("mlp2000", (1024,), 100).hidden2[0].weight.shape == (
        2000,
        2000,
    )
    assert recipe_of(study) == ("adam", 1e-4, 256)
    assert study.training.epochs * -(-10 * 500 // 256) == 5000
    assert (study.learners["ewc"].strength, study.learners["si"].strength) == (
        penalty,
        c,
    )
    assert study.learners["er"].memory_per_class == 100


@pytest.mark.parametrize("name", SMALL)
def test_a_small_preset_is_its_full_one_with_less(name):
    small = preset(name)
    full = preset(name.removesuffix("-small"))
    for same in ("data", "classes_per_task"):
        assert getattr(small.scenario, same) == getattr(full.scenario, same)
    assert (small.network.name, small.report) == (full.network.name, full.report)
    for learner in small.learners:
        assert set(small.features_of(learner)) <= set(full.features_of(learner))
    assert kinds(small) <= kinds(full)
    assert small.scenario.train_limit is not None
    assert full.scenario.train_limit is None
    assert small.seeds <= full.seeds
    assert small.training.epochs <= full.training.epochs


# Kemker 2018: the section on experiments, and the supplement

EVERY = tuple(name for name in CALLS if name.startswith("kemker-"))
INCREMENTAL = tuple(name for name in EVERY if name.endswith("-incremental"))
MULTIMODAL = ("kemker-multimodal", "kemker-features", "kemker-digits-multimodal")
DIGITS = tuple(name for name in EVERY if "digits" in name)

# Optimizer, initial learning rate and mini-batch size.
SUPPLEMENT = {
    "finetune": ("nadam", 8e-4, 256),
    "ewc": ("adam", 2e-4, 250),
    "pathnet": ("adam", 2e-3, 16),
    "fel": ("adam", 2e-2, 256),
}
# A fiftieth of the data: smaller batches, for which FEL's rate is too fast.
ON_DIGITS = {
    "finetune": ("nadam", 8e-4, 32),
    "ewc": ("adam", 2e-4, 32),
    "fel": ("adam", 2e-3, 32),
}


@pytest.mark.parametrize("name", EVERY)
def test_the_network_and_the_recipes_are_the_supplements_or_a_stated_deviation(name):
    """Two hidden layers of 400 ReLU units."""
    study = preset(name)
    net = build_network(study.network.name, (1, 28, 28), 10)
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    shapes = [(layer.in_features, layer.out_features) for layer in layers]
    assert shapes == [(784, 400), (400, 400), (400, 10)]
    assert sum(isinstance(module, nn.ReLU) for module in net.modules()) == 2
    recipes = SUPPLEMENT | (ON_DIGITS if name in DIGITS else {})
    for learner in recipes.keys() & study.learners.keys():
        assert recipe_of(study, learner) == recipes[learner], learner
    # The ideal is the MLP trained offline.
    assert study.recipe_of("offline") == study.recipe_of("finetune") == study.training


@pytest.mark.parametrize("name", EVERY)
def test_the_scenarios_are_the_papers_three(name):
    """Of the permutation experiment the paper gives no number of sessions: ours are ten.

    Either modality is first once; a learner that is told the session is compared
    multi-head.
    """
    study = preset(name)
    spec = preset(name).scenario
    limit = 1000 if name in ("kemker-mnist-layers", "kemker-multimodal") else None
    assert (spec.train_limit, spec.test_limit, spec.validation) == (limit, None, None)
    assert (study.orders, study.report.mean) == (
        "rotate" if name in MULTIMODAL else "none",
        "classes",
    )
    kind = "multimodal"
    heads = ("multi", "single")
    own = {}
    if name in INCREMENTAL:
        kind = "incremental"
        heads = ("single",)
        own["base"] = None
    elif name not in MULTIMODAL:
        kind = "permutation"
        heads = ("multi",)
        own["sessions"] = 5 if name in DIGITS else 10
    if name not in MULTIMODAL:
        _, data, *_ = name.split("-")
        own["data"] = (
            {"cub": "cub200.npz", "audioset": "audioset.npz"}.get(data, data),
        )
    assert (spec.kind, study.report.heads) == (kind, heads)
    assert {field: getattr(spec, field) for field in own} == own

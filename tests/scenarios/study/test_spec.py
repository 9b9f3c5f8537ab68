"""What a study may say: presets and TOML files, their defaults, and every mistake by its path."""

import tomllib

import pytest
from pydantic import ValidationError

from probe.by_layer.jobs import jobs_of
from probe.errors import InputError
from probe.training.recipe import Recipe
from scenarios.learners.catalog import settings_of
from scenarios.study.source import check_study, read_study

LEAST = """
name = "tiny"
[scenario]
data = "digits"
[network]
name = "mlp"
[learners.finetune]
"""
NETWORK = 'name = "mlp"'
LEARNER = "[learners.finetune]"


def study(written=LEAST):
    raw = tomllib.loads(written) if isinstance(written, str) else written
    return check_study(raw, "tiny.toml")


def problems(written):
    """Return the problems of a study, by path."""
    with pytest.raises(InputError) as error:
        study(written)
    source, _, rest = str(error.value).partition(": ")
    assert source == "tiny.toml"
    return dict(problem.split(": ", 1) for problem in rest.split("; "))


def test_what_is_left_out_has_the_papers_values():
    tiny = study()
    assert (tiny.scenario.classes_per_task, tiny.scenario.train_limit) == (2, None)
    assert tiny.training == tiny.retraining_recipe == Recipe()
    assert (tiny.orders, tiny.seeds) == ("rotate", 1)
    assert tiny.features_of("finetune") == ("hidden1", "hidden2", "output")


def test_retraining_has_its_own_recipe_where_one_is_given():
    tiny = study(LEAST + "[training]\nepochs = 2\n[retraining]\nbatch_size = 7\n")
    assert tiny.training == Recipe(epochs=2)
    assert tiny.retraining_recipe == Recipe(batch_size=7)
    assert study(LEAST + "[training]\nepochs = 2\n").retraining_recipe == Recipe(epochs=2)


def test_a_learners_table_is_called_after_its_kind_unless_it_says_another():
    variants = '[learners.er]\n[learners."er-0.5"]\nkind = "er"\nmemory_per_class = 5\n'
    learners = study(LEAST + variants).learners
    assert learners == {
        "finetune": settings_of({"kind": "finetune"}),
        "er": settings_of({"kind": "er"}),
        "er-0.5": settings_of({"kind": "er", "memory_per_class": 5}),
    }


def test_the_table_may_even_have_the_name_of_another_kind():
    assert study(LEAST + '[learners.er]\nkind = "finetune"\n').learners["er"].kind == "finetune"


@pytest.mark.parametrize(
    ("chosen", "features"),
    [
        (["hidden1"], ("hidden1", "output")),
        (["output"], ("output",)),
        (["output", "hidden2", "hidden1"], ("hidden1", "hidden2", "output")),
    ],
)
def test_features_are_in_order_of_depth_and_end_with_the_output(chosen, features):
    tiny = study(LEAST.replace(NETWORK, f"{NETWORK}\nfeatures = {chosen}"))
    assert tiny.features_of("finetune") == features


TOP, DATA = 'name = "tiny"', 'data = "digits"'
# More of them, each with all that is said of it, in `tests/bad_input/toml_keys.py`.
ADDED = [
    (NETWORK, "width = 9", "network.width", "unknown key"),
    (DATA, "train_limit = 0", "scenario.train_limit", "expected 1 or more, got 0"),
    (DATA, "classes_per_task = 0", "scenario.classes_per_task", "1 or more, got 0"),
    (DATA, "test_limit = 0", "scenario.test_limit", "expected 1 or more, got 0"),
    (DATA, "validation = 0", "scenario.validation", "expected 1 or more, got 0"),
    (TOP, 'orders = "rotat"', "orders", "expected rotate, none or shuffle:N"),
    (TOP, 'orders = "shuffle:0"', "orders", "shuffle:N, N from 1"),
    (TOP, 'orders = {back = [2, "1"]}', "orders.back.1", "whole number, got '1'"),
    (TOP, 'orders = {"a/b" = [1]}', "orders.a/b", "letters, digits"),
    (TOP, 'orders = {"" = [1]}', "orders.", "letters, digits"),
    (LEARNER, 'competing = "al"', "learners.finetune.competing", "'all', 'seen' or 'task', got"),
    (LEARNER, "exemplars = {per_class = 0}", "learners.finetune.exemplars.per_class", "1 or more"),
    (LEARNER, "exemplars = {}", "learners.finetune.exemplars", "give either per_class or total"),
    (LEARNER, "[training]\nlr = 1", "training.lr", "unknown key"),
    (LEARNER, "training = {optimiser = 1}", "learners.finetune.training.optimiser", "optimizer"),
    (LEARNER, "[retraining]\nepochs = 0.5", "retraining.epochs", "got 0.5"),
]
CHANGED = [
    (LEARNER, "[learners.fintune]", "learners.fintune", "did you mean 'finetune'"),
    (LEARNER, '[learners."er.order-1"]\nkind = "er"', "learners.er.order-1", "before a digit"),
    (
        LEARNER,
        "[learners.er]\nexemplars = {per_class = 5}",
        "learners.er.exemplars",
        "there is no choice here: leave this key out",
    ),
    (LEARNER, "[learners.fel]\nconnected = 1e-3", "learners.fel", "raise connected or hidden"),
    (LEARNER, "[learners.pathnet]\nactive = 11", "learners.pathnet", "lower active or raise"),
]


@pytest.mark.parametrize(
    ("was", "becomes", "path", "message"),
    [*CHANGED, *((was, f"{was}\n{line}", *said) for was, line, *said in ADDED)],
)
def test_a_mistake_is_named_by_its_path(was, becomes, path, message):
    found = problems(LEAST.replace(was, becomes))
    assert list(found) == [path]
    assert message in found[path]


def test_all_problems_are_named_at_once():
    """But whether features are known, which can be asked of a study alone that has no other."""
    raw = {
        **{"seeds": 0, "orders": "rotat", "color": "red"},
        "scenario": {"data": "digit", "classes_per_task": "2"},
        "network": {"name": "mlp", "features": ["hiden1"], "width": 9},
        "training": {"epochs": "5", "lr": 1},
        "learners": {"ewd": {}, "er": {"memory": 1}},
    }
    expected = "name seeds orders color scenario.data scenario.classes_per_task network.width "
    expected += "training.epochs training.lr learners.ewd learners.er.memory"
    assert problems(raw).keys() == set(expected.split())


def test_a_file_is_called_after_its_path_unless_it_says_otherwise(tmp_path):
    path = tmp_path / "my-study.toml"
    path.write_text(LEAST.replace('name = "tiny"', ""))
    assert check_study(read_study(str(path)), str(path)).name == "my-study"
    path.write_text(LEAST)
    assert check_study(read_study(str(path)), str(path)).name == "tiny"


def test_an_unknown_preset_suggests_the_nearest():
    with pytest.raises(InputError, match=r"unknown preset 'digit': did you mean 'digits'\?"):
        read_study("digit")


def test_a_study_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        study().seeds = 2


def test_offline_is_the_name_of_that_kind_alone():
    """Figures and metrics know the level to compare with by its name."""
    with pytest.raises(InputError, match="'offline' has kind 'finetune', but `offline`"):
        study(LEAST.replace(LEARNER, '[learners.offline]\nkind = "finetune"\n'))


def test_no_two_jobs_share_a_folder():
    text = LEAST.replace('"tiny"', '"tiny"\norders = {"0" = [1, 2], "0-seed-0" = [2, 1]}')
    text = text.replace(
        LEARNER,
        '[learners.finetune-order-0]\nkind = "er"\n[learners.finetune]\n[learners.offline]\n',
    )
    jobs = jobs_of(study(text.replace('"tiny"', '"tiny"\nseeds = 12')), tasks=2)
    # Two learners with two orders each, offline and the floor.
    assert len(jobs) == 12 * (2 + 2 + 1 + 1)
    assert len({job.name for job in jobs}) == len(jobs)

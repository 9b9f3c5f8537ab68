"""A study's file: presets and TOML, defaults, the four scenarios, and every mistake by its path."""

import tomllib

import pytest
import torch

from probe.errors import InputError
from probe.training.recipe import Recipe
from scenarios.data.datasets import Location, load
from scenarios.learners.catalog import settings_of
from scenarios.streams.permuted import permutation
from scenarios.study.scenario_spec import KINDS
from scenarios.study.source import check_study, read_study
from tests.scenarios.tiny_run import TINY

LEAST = """
name = "tiny"
[scenario]
data = "digits"
[network]
name = "mlp"
[learners.finetune]
"""
TOP, DATA, NETWORK = 'name = "tiny"', 'data = "digits"', 'name = "mlp"'
LEARNER = "[learners.finetune]"


def study(written=LEAST, **given):
    raw = tomllib.loads(written) if isinstance(written, str) else written
    return check_study({**raw, **given}, "tiny.toml")


def problems(written, **given):
    """Return the problems of a study, by path."""
    with pytest.raises(InputError) as error:
        study(written, **given)
    source, _, rest = str(error.value).partition(": ")
    assert source == "tiny.toml"
    return dict(problem.split(": ", 1) for problem in rest.split("; "))


def test_defaults_are_the_papers_values():
    tiny = study()
    assert (tiny.scenario.classes_per_task, tiny.scenario.train_limit) == (2, None)
    assert tiny.training == tiny.retraining_recipe == Recipe()
    assert (tiny.orders, tiny.seeds) == ("rotate", 1)
    # By depth, and the output last.
    named = study(LEAST.replace(NETWORK, f'{NETWORK}\nfeatures = ["hidden2", "hidden1"]'))
    for each in (tiny, named):
        assert each.features_of("finetune") == ("hidden1", "hidden2", "output")


def test_a_learners_table_is_called_after_its_kind_unless_it_says_another():
    variants = '[learners.er]\nkind = "finetune"\n[learners."er-0.5"]\nkind = "er"\n'
    assert study(f"{LEAST}{variants}memory_per_class = 5").learners == {
        "finetune": settings_of({"kind": "finetune"}),
        "er": settings_of({"kind": "finetune"}),
        "er-0.5": settings_of({"kind": "er", "memory_per_class": 5}),
    }


# Most mistakes are in `tests/bad_input`.


@pytest.mark.parametrize(
    ("was", "added", "path", "message"),
    [
        (DATA, 'kind = "incremental"\nbase = 0', "scenario.base", "expected 1 or more, got 0"),
        (TOP, 'orders = {back = [2, "1"]}', "orders.back.1", "whole number, got '1'"),
        (LEARNER, "exemplars = {}", "learners.finetune.exemplars", "either per_class or total"),
        (LEARNER, '[learners."er.order-1"]\nkind = "er"', "learners.er.order-1", "before a digit"),
        (LEARNER, "[learners.er]\nexemplars = {per_class = 5}", "learners.er.exemplars", "leave"),
        (LEARNER, "[learners.fel]\nconnected = 1e-3", "learners.fel", "raise connected or hidden"),
        (LEARNER, "[learners.pathnet]\nactive = 11", "learners.pathnet", "lower active or raise"),
        (LEARNER, '[report]\nheads = ["all", "all"]', "report.heads", "names each head once"),
        (LEARNER, '[report]\nweights = {a = "1"}', "report.weights.a", ""),
    ],
)
def test_a_mistake_is_named_by_its_path(was, added, path, message):
    found = problems(LEAST.replace(was, f"{was}\n{added}"))
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
    for text, name in ((LEAST.replace(TOP, ""), "my-study"), (LEAST, "tiny")):
        path.write_text(text)
        assert check_study(read_study(str(path)), str(path)).name == name
    with pytest.raises(InputError, match=r"unknown preset 'digit': did you mean 'digits'\?"):
        read_study("digit")


def test_offline_is_the_name_of_that_kind_alone():
    """Figures and metrics know the control by its name."""
    with pytest.raises(InputError, match="'offline' has kind 'finetune', but `offline`"):
        study(LEAST.replace(LEARNER, '[learners.offline]\nkind = "finetune"\n'))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            LEARNER,
            f"{LEARNER}\nexemplars = {{ total = 9 }}",
            "total of 9 exemplars leaves none for each of 10",
        ),
        ('"mlp"\nfeatures = ["hidden1"]', '"reduced_resnet18"', "25 x 25"),
        ("train_limit = 4", "train_limit = 4\nvalidation = 500", "hold out fewer"),
        ("there = [1, 2]", "there = [1, 2, 3]", "order"),
    ],
)
def test_settings_that_do_not_fit_the_data_are_refused_before_anything_is_written(
    fresh, old, new, reason
):
    assert old in TINY
    with pytest.raises(InputError, match=reason):
        fresh.run(TINY.replace(old, new))
    assert not fresh.root.exists()


# The four kinds of scenario

SAID = {
    "split": 'data = "digits"\nclasses_per_task = 5',
    "permutation": 'kind = "permutation"\ndata = "digits"\nsessions = 3\npermutations = 4',
    "incremental": 'kind = "incremental"\ndata = "digits"\nbase = 8',
    "multimodal": 'kind = "multimodal"\ndata = ["digits", "breast_cancer"]',
}


def of(kind, more=""):
    """Return a study of a kind of scenario, as in a file."""
    return LEAST.replace(DATA, f"{SAID[kind]}\n{more}")


@pytest.mark.parametrize(
    ("kind", "title", "names", "classes"),
    [
        ("split", "digits", ["0-4", "5-9"], [5, 5]),
        ("permutation", "digits, permuted", ["1", "2", "3"], [10, 10, 10]),
        ("incremental", "digits, class by class", ["0-7", "8", "9"], [8, 1, 1]),
        ("multimodal", "digits and breast_cancer", ["digits", "breast_cancer"], [10, 2]),
    ],
)
def test_each_kind_is_made_of_its_own_keys(kind, title, names, classes):
    spec = study(of(kind, "train_limit = 3\ntest_limit = 2")).scenario
    scenario = spec.scenario(Location())
    assert (spec.kind, spec.title, scenario.kind) == (kind, title, kind)
    assert [task.name for task in scenario.tasks] == names
    assert [len(task.classes) for task in scenario.tasks] == classes
    assert [len(task.train) for task in scenario.tasks] == [3 * k for k in classes]
    assert [len(task.test) for task in scenario.tasks] == [2 * k for k in classes]
    assert tuple(SAID) == KINDS


def test_permutations_are_those_of_the_study_and_by_default_there_are_ten():
    """Session 3 is `permutation(64, 3, 4)` of the data, whatever the seeds of the study."""
    plain = load("digits").test.x.flatten(1)
    session = study(of("permutation")).scenario.scenario(Location()).tasks[2].test.x.flatten(1)
    assert torch.equal(session, plain[:, permutation(64, 3, 4)])
    sizes = {"permutation": [10] * 10, "incremental": [5, 1, 1, 1, 1, 1]}
    for kind, expected in sizes.items():
        spec = study(LEAST.replace(DATA, f'{DATA}\nkind = "{kind}"\ntrain_limit = 1')).scenario
        assert [len(task.classes) for task in spec.scenario(Location()).tasks] == expected


@pytest.mark.parametrize(
    ("written", "heads", "reason"),
    [
        (of("split"), ["single"], 'single-head is unknown: report heads = ["multi"], or leave it'),
        (of("permutation"), ["all", "single"], "single-head is unknown: report heads"),
        (of("incremental"), ["multi"], "in a session of one class is its label: leave it out"),
        (LEAST.replace(DATA, f"{DATA}\nclasses_per_task = 1"), ["multi"], "of one class is its"),
        *((of(kind), ["multi"], "") for kind in ("split", "permutation", "multimodal")),
    ],
)
def test_a_learner_that_must_be_told_the_task_is_refused_where_it_is_not(written, heads, reason):
    given = {"learners": {"finetune": {}, "pathnet": {}}, "report": {"heads": heads}}
    if not reason:
        assert study(written, **given).learners["pathnet"]
        return
    assert reason in problems(written, **given)["learners.pathnet"]
    # It is that learner's fault alone.
    assert study(written, **{**given, "learners": {"finetune": {}}})

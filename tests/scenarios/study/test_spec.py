"""A study's file: presets and TOML, the six scenarios, learners that receive the task id."""

import tomllib

import pytest

from probe.errors import InputError
from scenarios.data.datasets import Location
from scenarios.learners.catalog import LEARNERS, settings_of
from scenarios.options import RunOptions
from scenarios.study.study_file import apply_flags, check_study
from scenarios.study.study_toml import read_study
from tests.scenarios.learners.tiny_learners import SMALL

LEAST = """
name = "tiny"
[scenario]
data = "digits"
[network]
name = "mlp"
[learners.finetune]
"""
TOP = 'name = "tiny"'
DATA = 'data = "digits"'


def study(written=LEAST, **given):
    return check_study({**tomllib.loads(written), **given}, "tiny.toml")


def problems(written=LEAST, **given):
    """Return the problems of a study, by path."""
    with pytest.raises(InputError) as error:
        study(written, **given)
    source, _, rest = str(error.value).partition(": ")
    assert source == "tiny.toml"
    return dict(problem.split(": ", 1) for problem in rest.split("; "))


def test_a_learners_table_is_called_after_its_kind_unless_it_says_another():
    variants = '[learners.er]\nkind = "finetune"\n[learners."er-0.5"]\nkind = "er"\n'
    assert study(f"{LEAST}{variants}memory_per_class = 5").learners == {
        "finetune": settings_of({"kind": "finetune"}),
        "er": settings_of({"kind": "finetune"}),
        "er-0.5": settings_of({"kind": "er", "memory_per_class": 5}),
    }


@pytest.mark.parametrize("kind", ["offline", "fel"])
def test_there_is_no_floor_without_a_learner_on_the_network_of_the_study(kind):
    assert [*study(learners={kind: {}}).all_learners] == [kind]


# Most mistakes are in `tests/bad_input`.


def test_all_problems_are_named_at_once():
    """But whether features are known, which can be asked of a study alone that has no other."""
    raw = {
        **{"seeds": 0, "orders": [1], "color": "red"},
        "scenario": {"data": "digit", "classes_per_task": "2"},
        "network": {"name": "mlp", "features": ["hiden1"], "width": 9},
        "training": {"epochs": "5", "lr": 1},
        "learners": {"ewd": {}, "er": {"memory": 1}},
    }
    expected = (
        "seeds orders color scenario.data scenario.classes_per_task network.width "
    )
    expected += "training.epochs training.lr learners.ewd learners.er.memory"
    found = problems(**raw)
    assert found.keys() == set(expected.split())
    assert found["orders"].startswith(
        "expected rotate, none, shuffle:N or a table of orders"
    )


def test_a_file_is_called_after_its_path_unless_it_says_otherwise(tmp_path):
    path = tmp_path / "my-study.toml"
    for text, name in ((LEAST.replace(TOP, ""), "my-study"), (LEAST, "tiny")):
        path.write_text(text)
        assert check_study(read_study(str(path)), str(path)).name == name
    with pytest.raises(
        InputError, match=r"unknown preset 'digit': did you mean 'digits'"
    ):
        read_study("digit")


def test_a_variant_changes_values_and_keeps_the_learners_it_lists(tmp_path):
    path = tmp_path / "study.toml"
    changes = "seeds = 7\n[variants.quick.training]\nepochs = 2\n"
    path.write_text(f"{LEAST}\n[learners.er]\nmemory_per_class = 3\n")
    plain = check_study(read_study(str(path)), "plain")
    with path.open("a") as file:
        file.write(f"[variants.quick]\n{changes}[variants.quick.learners.er]\n")
    quick = check_study(read_study(str(path), "quick"), "quick")
    assert quick.name == "study-quick"
    assert (quick.seeds, quick.training.epochs) == (tuple(range(7)), 2)
    assert quick.learners == {"er": plain.learners["er"]}
    assert quick.scenario == plain.scenario
    assert check_study(read_study(str(path)), "plain") == plain
    for name in ("slow", "quik"):
        with pytest.raises(InputError, match=f"unknown variant '{name}'"):
            read_study(str(path), name)


# The six kinds of scenario, domain-incremental ones by their shift

DOMAIN = 'kind = "domain-incremental"\ndata = "digits"\nshift = "@"'
SAID = {
    "class-incremental": 'data = "digits"\nclasses_per_task = 5',
    "permutation": 'kind = "permutation"\ndata = "digits"\npermutation_seed = 4',
    "incremental": 'kind = "incremental"\ndata = "digits"',
    "multimodal": 'kind = "multimodal"\ndata = ["digits", "breast_cancer"]',
    "rotate": f"{DOMAIN}\nangles = [0, 45]",
    "permute": f"{DOMAIN}\nsessions = 2",
    "classes": f"{DOMAIN}\nclasses_per_task = 5",
    "task-incremental": 'kind = "task-incremental"\ndata = "digits"\nclasses_per_task = 5',
}


def of(kind):
    """Return a study of a kind of scenario, as in a file."""
    said = SAID[kind].replace("@", kind)
    return LEAST.replace(DATA, f"{said}\ntrain_limit = 3\ntest_limit = 2")


@pytest.mark.parametrize(
    ("kind", "title", "names", "classes"),
    [
        ("class-incremental", "digits", "0-4 5-9", [5, 5]),
        ("permutation", "digits, permuted", "1 2 3 4 5 6 7 8 9 10", [10] * 10),
        ("incremental", "digits, class by class", "0-4 5 6 7 8 9", [5, 1, 1, 1, 1, 1]),
        ("multimodal", "digits and breast_cancer", "digits breast_cancer", [10, 2]),
        ("rotate", "digits, rotated", "0° 45°", [10, 10]),
        ("permute", "digits, permuted", "1 2", [10, 10]),
        ("classes", "digits, labeled within the task", "0-4 5-9", [5, 5]),
    ],
)
def test_each_kind_is_made_of_its_own_keys(kind, title, names, classes):
    """By default there are ten sessions, and half of the classes are in the base session."""
    spec = study(of(kind)).scenario
    assert (
        check_study(study(of(kind)).model_dump(warnings="error"), "again").scenario
        == spec
    )
    scenario = spec.scenario(Location())
    assert spec.kind == (kind if "shift" not in SAID[kind] else "domain-incremental")
    assert spec.title == title
    if kind != "incremental":
        assert (
            f"{kind} has no base"
            in problems(of(kind).replace("train", "base = 2\ntrain"))["scenario"]
        )
    assert [task.name for task in scenario.tasks] == names.split()
    assert [len(task.classes) for task in scenario.tasks] == classes
    assert [len(task.train) for task in scenario.tasks] == [3 * k for k in classes]
    assert [len(task.test) for task in scenario.tasks] == [2 * k for k in classes]


@pytest.mark.parametrize(
    ("written", "heads", "reason"),
    [
        (of("class-incremental"), ["single"], 'report heads = ["multi"]'),
        (of("incremental"), ["multi"], "gives away"),
        (LEAST.replace(DATA, f"{DATA}\nclasses_per_task = 1"), ["multi"], "gives away"),
        (
            LEAST.replace(DATA, f"{DATA}\ntasks = [[0, 1], [2]]"),
            ["multi"],
            "gives away",
        ),
        *((of(kind), ["multi"], "") for kind in SAID if kind != "incremental"),
    ],
)
def test_a_learner_that_must_be_told_the_task_is_refused_where_it_is_not(
    written, heads, reason
):
    given = {"learners": {"finetune": {}, "pathnet": {}}, "report": {"heads": heads}}
    if reason:
        assert reason in problems(written, **given)["learners.pathnet"]
        # It is that learner's fault alone.
        given["learners"].pop("pathnet")
    assert study(written, **given)


CANNOT = {"cumulative", "icarl", "icarl_hybrid1", "geppnet", "geppnet_stm"}


@pytest.mark.parametrize("kind", [kind for kind in LEARNERS if kind != "untrained"])
def test_every_learner_receives_the_task_id_or_is_refused(kind):
    learners = {kind: SMALL.get(kind, {})}
    if kind in CANNOT:
        found = problems(of("task-incremental"), learners=learners)
        assert "has no loss_classes" in found[f"learners.{kind}"]
        return
    aware = study(of("task-incremental"), learners=learners)
    assert aware.scenario.task_aware
    assert getattr(aware.learners[kind], "loss_classes", "task") == "task"
    assert apply_flags(aware, RunOptions(seeds=3)).learners == aware.learners
    settings = {"finetune": {"loss_classes": "all"}}
    aware = study(of("task-incremental"), learners=settings)
    assert aware.learners["finetune"].loss_classes == "all"

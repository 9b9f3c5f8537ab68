"""Whose a run directory is: whatever can change a result changes the identity, and is named."""

import json
from dataclasses import fields

import pytest
import torch

from probe.errors import InputError
from probe.examples import Examples
from probe.fitting import Recipe
from scenarios.datasets import Dataset
from scenarios.learners.er import ErSettings
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.finetune import FinetuneSettings
from scenarios.streams import split_by_class
from scenarios.study.identity import identify, read_identity
from scenarios.study.reading import check_study
from scenarios.study.spec import NetworkSpec, ScenarioSpec, Study
from scenarios.study.store import FORMAT

CPU = torch.device("cpu")
RAW = {
    "name": "tiny",
    "scenario": {"data": "digits", "classes_per_task": 2},
    "network": {"name": "cnn3"},
    "training": {},
    "learners": {"finetune": {}, "er": {}},
}
CHANGES = [
    *[("scenario", name, value) for name, value in [("data", "mnist"), ("train_limit", 5)]],
    *[("scenario", name, 5) for name in ("test_limit", "validation")],
    ("scenario", "classes_per_task", 1),
    ("network", "name", "mlp"),
    ("network", "features", ["conv1"]),
    *[
        (recipe, name, value)
        for recipe in ("training", "retraining")
        for name, value in [
            ("epochs", 6),
            ("batch_size", 63),
            ("optimiser", "sgd"),
            ("learning_rate", 0.0011),
            ("init", "torch"),
            ("precision", "bf16"),
        ]
    ],
    ("learners", "er", {"memory_per_class": 127}),
    ("learners", "er", {"competing": "seen"}),
    ("learners", "finetune", {"competing": "task"}),
    *[
        ("learners", "finetune", {"exemplars": exemplars})
        for exemplars in (
            {"per_class": 5},
            {"total": 5},
            {"per_class": 5, "sampling": "fifo"},
            {"per_class": 5, "replay": "joined"},
            {"per_class": 5, "balanced": True},
        )
    ],
    ("learners", "er", {"kind": "cumulative"}),
    ("learners", "offline", {}),
    (None, "orders", "none"),
    (None, "orders", {"0": [1, 2]}),
    (None, "seeds", 2),
    (None, "retraining", {}),
    (None, "storage", "bf16"),
]


def study(table=None, name="", value=None):
    """Return the study above, with one value changed."""
    changed = {**RAW, table: {**RAW.get(table, {}), name: value}} if table else {**RAW, name: value}
    return check_study(changed if name else RAW, "tiny")


def scenario(seed=0, labels=(0, 1, 2, 3), size=2):
    x = torch.rand(4, 1, 2, 2, generator=torch.Generator().manual_seed(seed))
    half = Examples(x, torch.tensor(labels))
    copy = Examples(half.x.clone(), half.y.clone())
    return split_by_class(Dataset(name="toy", classes=4, train=half, test=copy), size)


def identity(study=None, stream=None, device=CPU):
    return identify(study or globals()["study"](), stream or scenario(), device)


@pytest.mark.parametrize(("table", "name", "value"), CHANGES)
def test_whatever_can_change_a_result_changes_the_hash(table, name, value):
    assert identity(study(table, name, value)).hash != identity().hash


def test_no_two_of_these_changes_give_the_same_hash():
    hashes = {identity(study(*change)).hash for change in CHANGES}
    assert len(hashes) == len(CHANGES)


def test_every_field_of_a_study_is_among_these_changes():
    changed = {(table or "", name) for table, name, _ in CHANGES}
    assert {name for table, name in changed if table == "scenario"} == set(
        ScenarioSpec.model_fields
    )
    assert {name for table, name in changed if table == "network"} == set(NetworkSpec.model_fields)
    for recipe in ("training", "retraining"):
        named = {name for table, name in changed if table == recipe}
        assert named == {field.name for field in fields(Recipe)}
    for kind, settings in (("er", ErSettings), ("finetune", FinetuneSettings)):
        named = {field for _, name, value in CHANGES if name == kind for field in value}
        # Its exemplars are its memory: it takes no others.
        fixed = {"kind", "exemplars"} if kind == "er" else {"kind"}
        assert named | fixed == set(settings.model_fields)
    exemplars = [v["exemplars"] for _, _, v in CHANGES if isinstance(v, dict) and "exemplars" in v]
    assert {field for each in exemplars for field in each} == set(ExemplarSettings.model_fields)
    own = {name for table, name in changed if not table} | {table for table, _ in changed if table}
    assert own == set(Study.model_fields) - {"name", "report"}


FREE = [
    ("name", "other"),
    ("report", {"heads": ["multi"], "weights": {"a": [1, 0, 0, 0, 0, 0, 0]}}),
]


@pytest.mark.parametrize(("name", "value"), FREE)
def test_the_name_and_the_report_change_nothing_and_read_back(tmp_path, name, value):
    other = study(None, name, value)
    assert identity(other).hash == identity().hash
    assert other != study()
    identity(other).claim(tmp_path)
    assert read_identity(tmp_path) == identity(other)


def test_the_same_study_has_the_same_hash_each_time():
    assert identity().hash == identity().hash
    reordered = check_study(dict(reversed(RAW.items())), "tiny")
    assert identity(reordered).hash == identity().hash


@pytest.mark.parametrize("half", ["train", "test"])
def test_a_pixel_or_a_label_changes_the_hash(half):
    for change in ("x", "y"):
        stream = scenario()
        part = getattr(stream.tasks[1], half)
        if change == "x":
            pixel = part.x[0, 0, 0, 0]
            pixel.copy_(torch.nextafter(pixel, torch.tensor(2.0)))
        else:
            part.y[0] = 3
        assert identity(stream=stream).hash != identity().hash


def test_how_the_data_are_cut_and_ordered_changes_the_hash():
    assert identity(stream=scenario(size=1)).hash != identity().hash
    assert identity(stream=scenario().reordered([1, 0])).hash != identity().hash
    assert identity(stream=scenario(labels=(1, 0, 2, 3))).hash != identity().hash


def test_the_kind_of_device_changes_the_hash_and_its_number_does_not():
    first, second = (identity(device=torch.device("cuda", k)).hash for k in (0, 1))
    assert first == second != identity().hash


def test_an_identity_reads_back_from_its_directory(tmp_path):
    root = tmp_path / "run"
    identity().claim(root)
    assert [path.name for path in root.iterdir()] == ["study.json"]
    assert read_identity(root) == identity()
    assert read_identity(root).hash == identity().hash
    assert read_identity(root).study.name == "tiny"


@pytest.mark.parametrize(("table", "name", "value"), CHANGES)
def test_every_study_reads_back_from_its_directory(tmp_path, table, name, value):
    mine = identity(study(table, name, value))
    mine.claim(tmp_path)
    assert read_identity(tmp_path).hash == mine.hash


def test_a_directory_is_claimed_again_by_its_own_study_whatever_it_holds(tmp_path):
    identity().claim(tmp_path)
    (tmp_path / "rows.csv").write_text("")
    before = (tmp_path / "study.json").read_bytes()
    identity().claim(tmp_path)
    assert (tmp_path / "study.json").read_bytes() == before


@pytest.mark.parametrize(("name", "value"), FREE)
def test_a_claim_under_another_name_or_report_writes_that_and_nothing_else(tmp_path, name, value):
    identity().claim(tmp_path)
    before = json.loads((tmp_path / "study.json").read_text())
    identity(study(None, name, value)).claim(tmp_path)
    after = json.loads((tmp_path / "study.json").read_text())
    assert {key for key in before if after[key] != before[key]} == {name}
    assert before.keys() == after.keys()
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (lambda: identity(study(None, "seeds", 2)), "seeds is 1 there and 2 here"),
        (
            lambda: identity(study("training", "epochs", 6)),
            "training.epochs is 5 there and 6 here",
        ),
        (
            lambda: identity(study("network", "features", ["conv1"])),
            'network.features is null there and ["conv1"] here',
        ),
        (
            lambda: identity(study("learners", "er", {"memory_per_class": 9})),
            "learners.er.memory_per_class is 128 there and 9 here",
        ),
        (
            lambda: identity(study("learners", "offline", {})),
            'learners.offline is null there and {"kind": "offline"} here',
        ),
        (lambda: identity(device=torch.device("cuda")), 'device is "cpu" there and "cuda" here'),
        (
            lambda: identity(stream=scenario(seed=1)),
            f'data is "{identity().data[:56]}... there and "',
        ),
    ],
)
def test_the_directory_of_another_study_is_refused_by_what_differs(tmp_path, other, difference):
    identity().claim(tmp_path)
    before = (tmp_path / "study.json").read_bytes()
    with pytest.raises(InputError) as error:
        other().claim(tmp_path)
    assert f"{tmp_path} belongs to another study: {difference}" in str(error.value)
    assert "choose another --out" in str(error.value)
    assert (tmp_path / "study.json").read_bytes() == before


def test_all_that_differs_is_named(tmp_path):
    identity().claim(tmp_path)
    other = check_study({**RAW, "seeds": 3, "network": {"name": "mlp"}}, "tiny")
    reason = 'network.name is "cnn3" there and "mlp" here; seeds is 1 there and 3 here; choose'
    with pytest.raises(InputError, match=reason):
        identity(other).claim(tmp_path)


def test_a_directory_that_holds_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("")
    with pytest.raises(InputError, match="is not empty and holds no study: choose another --out"):
        identity().claim(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_directory_whose_first_write_was_cut_short_is_claimed(tmp_path):
    (tmp_path / "study.json.4000001.tmp").write_text('{"name": "ti')
    identity().claim(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]
    assert read_identity(tmp_path) == identity()


def damaged(root, **changes):
    path = root / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        *[{"study": []}, {"study": {}}, {"study": None}, {"tasks": 3}, {"tasks": [{}]}],
        *[{"name": None}, {"report": None}, {"report": {"heads": []}}],
    ],
)
def test_a_damaged_description_is_refused_and_left(tmp_path, changes):
    identity().claim(tmp_path)
    damaged(tmp_path, **changes)
    before = (tmp_path / "study.json").read_bytes()
    for use in (read_identity, identity().claim):
        with pytest.raises(InputError, match=r"study.json is damaged: put back .*--out"):
            use(tmp_path)
    assert (tmp_path / "study.json").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b"null"])
def test_a_description_that_is_no_object_is_refused(tmp_path, content):
    (tmp_path / "study.json").write_bytes(content)
    for use in (read_identity, identity().claim):
        with pytest.raises(InputError, match=r"study.json is damaged"):
            use(tmp_path)


def test_a_directory_of_another_format_is_refused(tmp_path):
    identity().claim(tmp_path)
    damaged(tmp_path, format=FORMAT - 1)
    reason = f"has format {FORMAT - 1}, this version reads {FORMAT}: choose another"
    for use in (read_identity, identity().claim):
        with pytest.raises(InputError, match=reason):
            use(tmp_path)


def test_a_directory_without_a_study_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match=f"{folder} holds no study .*name the directory of"):
            read_identity(folder)

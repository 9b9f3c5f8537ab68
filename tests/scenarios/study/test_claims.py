"""The directory of a run: whose it is reads back; another study's is refused by what differs."""

import json

import pytest
import torch
from scenarios.study.identity import read_identity
from scenarios.study.quarantine import notes
from scenarios.study.sealing import sealed
from tests.scenarios.study.toy_identity import CHANGES, FREE, RAW, identity, scenario, study

from probe.errors import InputError
from scenarios.study.reading import check_study
from scenarios.study.store import FORMAT


def test_an_identity_reads_back_from_its_directory(tmp_path):
    root = tmp_path / "run"
    identity().claim(root)
    assert [path.name for path in root.iterdir()] == ["study.json"]
    assert read_identity(root) == identity()
    assert read_identity(root).study.name == "tiny"


@pytest.mark.parametrize(("table", "name", "value"), CHANGES)
def test_every_study_reads_back_from_its_directory(tmp_path, table, name, value):
    mine = identity(study(table, name, value))
    mine.claim(tmp_path)
    assert read_identity(tmp_path) == mine


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
    assert {key for key in before if after[key] != before[key]} == {name, "sha256"}
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
            'learners.offline is null there and {"kind": "offline", "training": null} here',
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
    left = tmp_path / "study.json.00000000-4000001.tmp"  # of another machine, so nobody sweeps it
    left.write_text('{"name": "ti')
    identity().claim(tmp_path)
    assert set(tmp_path.iterdir()) == {left, tmp_path / "study.json"}
    assert read_identity(tmp_path) == identity()


def resealed(root, **changes):
    """Write a description with changes, under the seal that it would have."""
    path = root / "study.json"
    record = {**json.loads(path.read_bytes()), **changes}
    del record["sha256"]
    path.write_bytes(sealed(json.dumps(record).encode()))


def test_a_description_with_any_bit_flipped_is_set_aside_and_written_anew(tmp_path):
    identity().claim(tmp_path)
    path = tmp_path / "study.json"
    whole = path.read_bytes()
    places = range(0, len(whole), 5)
    for place in places:
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << place % 7]) + whole[place + 1 :]
        )
        with pytest.raises(InputError, match=r"study.json is damaged: start its `probe run` again"):
            read_identity(tmp_path)
        identity().claim(tmp_path)
        assert path.read_bytes() == whole
    assert len(notes(tmp_path)) == len(places)


NOT_A_STUDY = [
    *[{"study": []}, {"study": {}}, {"study": None}, {"tasks": 3}, {"tasks": [{}]}],
    *[{"name": None}, {"report": None}, {"report": {"heads": []}}],
]


@pytest.mark.parametrize("changes", NOT_A_STUDY)
def test_what_is_sealed_but_no_study_is_refused_and_left(tmp_path, changes):
    identity().claim(tmp_path)
    resealed(tmp_path, **changes)
    before = (tmp_path / "study.json").read_bytes()
    with pytest.raises(InputError, match=r"study.json is damaged"):
        read_identity(tmp_path)
    assert (tmp_path / "study.json").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b"null", b"[" * 10**5])
def test_a_description_that_is_no_object_is_set_aside(tmp_path, content):
    for written in (content, sealed(content)):
        (tmp_path / "study.json").write_bytes(written)
        with pytest.raises(InputError, match=r"study.json is damaged"):
            read_identity(tmp_path)
        identity().claim(tmp_path)
        assert read_identity(tmp_path) == identity()
    kept = {path.name for path in (tmp_path / "quarantine").iterdir()}
    names = {"study.json", "study.json.2"}
    assert kept == names | {f"{name}.txt" for name in names}


@pytest.mark.parametrize("seal", [True, False])
def test_a_directory_of_another_format_is_refused(tmp_path, seal):
    """Earlier ones had no hash of themselves; one of this format without it is no description."""
    identity().claim(tmp_path)
    record = json.loads((tmp_path / "study.json").read_bytes())
    resealed(tmp_path, format=FORMAT - 1)
    if not seal:
        del record["sha256"]
        record["format"] = FORMAT - 1
        (tmp_path / "study.json").write_text(json.dumps(record))
    reason = f"has format {FORMAT - 1}, this version reads {FORMAT}: choose another"
    for use in (read_identity, identity().claim):
        with pytest.raises(InputError, match=reason):
            use(tmp_path)
    record.pop("sha256", None)
    (tmp_path / "study.json").write_text(json.dumps({**record, "format": FORMAT}))
    with pytest.raises(InputError, match=r"study.json is damaged"):
        read_identity(tmp_path)


def test_a_directory_without_a_study_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match=f"{folder} holds no study .*name the directory of"):
            read_identity(folder)

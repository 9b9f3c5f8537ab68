"""Networks that are the same network are said to be, and no statement rests on them."""

import shutil

import pytest
import torch
from torch import nn

import probe
from probe.by_layer.trained_networks import _warn_of_shared
from probe.errors import InputError
from probe.results.repeats import EQUAL
from tests.probe.record.tiny import TASKS, examples, network

DATA = examples(), examples(60, 1)
THREE = probe.Measure(readouts=["linear"], seeds=3)


def changed(model, name, by):
    """Return a network in which all other parameters are the same."""
    other = network()
    for key, parameter in model.named_parameters():
        module, _, last = key.rpartition(".")
        value = nn.Parameter(parameter.detach() * (by if key == name else 1.0))
        setattr(other.get_submodule(module), last, value)
    return other


def analyzed(networks, features=("0",), **settings):
    settings = {"readouts": ["linear"], **settings}
    return probe.analyze(networks, *DATA, TASKS, features, **settings)


SHARED = "note.str.contains('the same after every task')"


def test_no_forgetting_is_stated_of_layers_that_networks_share():
    model = network()
    unchanged = {
        "": {"0", "output"},
        "4.weight": {"0"},
        "0.weight": set(),
    }
    for name, expected in unchanged.items():
        networks = [changed(model, name, by) for by in (-1.0, 2.0, 0.5)]
        result = analyzed(dict(enumerate(networks, 1)), readouts=THREE)
        # The one network is retrained three times.
        assert {*result.layers()["scope"]} == {"network"}
        stated = result.statements().query("statement == 'forgets'")
        stated = stated[stated["verdict"] == "unchanged"]
        noted = result.tables()["notes"].query(SHARED)
        assert {*noted["feature"]} == {*stated["feature"]} == expected


def test_no_cause_is_stated_of_one_network_after_every_task():
    networks = dict.fromkeys((1, 2, 3), network())
    result = analyzed(networks, "auto", readouts=THREE)
    assert {*result.statements()["verdict"]} == {"unchanged"}
    assert result.tables()["causes"].empty


def notes_of(networks, **settings):
    notes = analyzed(networks, **settings).tables()["notes"]
    notes = notes.query("note.str.contains('those after|bit for bit')")
    columns = ["tasks_seen", "feature", "note"]
    return {*notes[columns].itertuples(index=False, name=None)}


def test_a_network_that_is_that_of_an_earlier_task_is_named(monkeypatch):
    one = changed(network(), "0.weight", 2.0)
    two = changed(network(), "0.weight", 3.0)
    same = "it is the network of model, order 0, seed 0, after 2 tasks, bit for bit"
    since = (
        "its values at the end are those after task 2: frozen, shared, or not copied"
    )
    assert notes_of({1: one, 2: two, 3: changed(two, "", 1)}) == {
        (3, "", same),
        (3, "0", since),
    }
    assert notes_of({1: one, 2: two, 3: network()}) == set()
    ceiling = "it is the network of model, order 0, seed 0, after 3 tasks, bit for bit"
    assert notes_of({1: one, 2: two, 3: network()}, offline=network()) == {
        (3, "", ceiling)
    }
    # As of a fourth task.
    steps = {1: False, 2: True, 3: True}
    monkeypatch.setattr("probe.results.repeats._equal_steps", lambda *_: steps)
    notes = notes_of({1: one, 2: two, 3: network()})
    assert (3, "0", since) in notes


def test_nothing_is_stated_of_a_ceiling_that_is_the_learners_network():
    runs = {}
    for seed in range(3):
        runs[seed] = {t: network(9 * seed + t) for t in (1, 2, 3)}
    offline = {seed: networks[3] for seed, networks in runs.items()}
    result = analyzed(runs, offline=offline)
    verdicts = result.statements().set_index("statement")["verdict"]
    assert {*verdicts[["below_ceiling", "learns_less"]]} == {"equal seeds"}
    assert "equal seeds" not in {*verdicts["forgets"]}
    # Each seed draws a floor of its own, and has the ceiling of its own.
    tables = result.tables()
    floors = tables["measurements"].query("learner == 'untrained'")
    of_seed = floors.groupby("seed")["value"].sum()
    assert of_seed.nunique() == 3
    alike = "metric == 'cka.offline' and tasks_seen == 3 and learner == 'model'"
    similarities = tables["diagnostics"].query(alike)["value"]
    assert {*similarities} == {1.0}
    assert len(result.tables()["causes"])


def test_a_backbone_in_the_memory_of_two_networks_is_named():
    one = network()
    two = changed(network(), "4.weight", 2.0)
    two[0] = one[0]
    with pytest.warns(UserWarning, match="networks share 0.bias, 0.weight in memory"):
        notes_of({1: one, 3: two})


def test_weights_whose_numbers_are_elsewhere_share_no_memory(recwarn):
    _warn_of_shared(nn.Linear(2, 2, device="meta") for _ in range(2))
    assert not recwarn


def test_a_layer_that_is_shared_in_some_seeds_is_named():
    runs = {}
    for seed in range(3):
        model = network(seed)
        rule = "0.weight" if seed == 2 else "4.weight"
        runs[seed] = {t: changed(model, rule, t + seed) for t in (1, 2, 3)}
    result = analyzed(runs)
    noted = result.tables()["notes"].query(SHARED)
    assert {*zip(noted["feature"], noted["seed"], strict=True)} == {("0", 0), ("0", 1)}
    assert set(result.statements().query("feature == '0'")["verdict"]) == {"unchanged"}


def test_no_statement_rests_on_seeds_that_differ_in_a_buffer_alone():
    runs = {}
    for seed in range(3):
        runs[seed] = {t: changed(network(), "0.weight", t) for t in (1, 2, 3)}
        for model in runs[seed].values():
            model.register_buffer("tag", torch.tensor(seed))
    result = analyzed(runs)
    notes = result.tables()["notes"]
    assert notes["seed"][notes["note"] == EQUAL.format(0)].tolist() == [1, 2]
    assert {*result.statements()["verdict"]} == {"equal seeds"}
    assert result.tables()["causes"].empty


def test_a_training_that_is_saved_as_two_seeds_is_refused(tmp_path):
    for task in range(1, 4):
        path = tmp_path / f"seed0-task{task}.pt"
        torch.save(changed(network(), "0.weight", task).state_dict(), path)
        shutil.copy(path, tmp_path / f"seed1-task{task}.pt")
    files = probe.Model(f"{tmp_path}/seed{{seed}}-task{{task}}.pt", fresh=network)
    for networks in files, {seed: {3: network()} for seed in range(2)}:
        with pytest.raises(InputError, match="seeds 0 and 1 of model"):
            probe.analyze(networks, *DATA, TASKS, ["0"])


def test_a_recorder_warns_of_the_network_of_another_task_or_seed(tmp_path):
    model = network()
    recorder = probe.Recorder(tmp_path, model, DATA[1], TASKS)
    recorder.after_task(1)
    with pytest.warns(UserWarning, match="learned = 2 is that at 1, bit"):
        recorder.after_task(2)
    with pytest.warns(UserWarning, match="is that of seed 0, bit"):
        probe.Recorder(tmp_path, model, DATA[1], TASKS, seed=1).after_task(1)

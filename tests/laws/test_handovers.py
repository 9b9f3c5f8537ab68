"""What one module hands to another arrives: settings, orders, codes, states, one law for each."""

import copy
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

import figures
import probe
from figures.report.questions import _matrix
from figures.tables import StudyTables
from probe.analysis.statements import MARGIN, STUCK
from probe.by_layer.jobs import jobs_of, keys_of
from probe.by_layer.store import InMemory, Store
from probe.by_layer.trained_networks import in_checkpoints
from probe.cut import planned_cut
from probe.cut.checks import ReferenceValues
from probe.cut.cuts import cut_each, split
from probe.examples import Examples
from probe.model import Model
from probe.record.checkpoints import Checkpoints, Run
from probe.results import causes, run_directory
from probe.results.job import is_finished
from probe.rewinding.correspondence import Comparison
from probe.rewinding.estimates import Estimation
from probe.task_aware import make_task_aware
from probe.tasked_examples import assign_tasks
from probe.training.evaluation import barred_but, predict_each
from probe.values.cache import RecomputedRows
from probe.values.layout import Inputs, value_layout
from scenarios.study.study_file import check_study
from scenarios.study.training import StudyNetworks
from tests.figures import invented
from tests.figures.kinds.test_time import COURSES, LEVELS
from tests.laws.zoo.written import Written
from tests.probe.results.test_run_directory import TINY, keep
from tests.scenarios.study import toy

LAYERS = {
    "a": (6, 6),
    "b": (6, 6),
    "c": (6, 3),
    "mix": nn.Identity,
}


def network():
    return nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3))


def points(n):
    return torch.randn(n, 6), torch.arange(n) % 3


def analyzed(model, train, test, **settings):
    return probe.analyze(model, train, test, [[0, 1], [2]], ["0"], **settings)


def test_a_feature_depends_on_what_examples_at_the_end_or_the_first_alone_need():
    def run(m, x):
        h = torch.zeros(len(x), 6)
        on = x[:, 0] > 0
        h[on] = m.a(x[on])
        if bool((~on).any()):
            h[~on] = m.b(x[~on])
        return m.c(m.mix(h))

    x = torch.randn(600, 6)
    x[:, 0] = torch.arange(600.0).flip(0) - 200
    model = Written(run, LAYERS)
    model.c.bias.requires_grad_(False)
    trained_by_rule = {"tail": {"c.weight", "c.bias"}, "as given": {"c.weight"}}
    for trainable, trained in trained_by_rule.items():
        cuts = cut_each(model, ["mix"], x[:8], trainable=trainable)
        for examples in (x, x.roll(1, 0)[:400]):
            cut = cuts.each[0].again(examples, "so", whole=True)
            assert "b.weight" in cut.split().frozen
            assert cut.facts.trained == trained


def test_shared_cuts_train_what_each_network_has_not_frozen(monkeypatch):
    other = network()
    x = torch.randn(8, 6)
    cuts = cut_each(network(), ["0"], x, trainable="as given")
    other[2].bias.requires_grad_(False)
    assert cuts.of(other).each[0].facts.trained == {"2.weight"}
    monkeypatch.setattr(ReferenceValues, "is_same", lambda *_: False)
    assert cuts.of(other).each[0].facts.trained == {"2.weight"}  # cut anew


def test_a_copied_tail_computes_what_its_original_does(monkeypatch):
    monkeypatch.setattr(planned_cut, "_chain_end", lambda *_: None)
    cut = split(network(), "1", torch.randn(8, 6))
    x = torch.randn(8, 6)
    value = cut.prefix(x)
    expected = cut.tail.eval()(value)
    assert torch.equal(copy.deepcopy(cut.tail)(value), expected)


def test_a_pass_for_values_leaves_the_global_generator():
    def run(m, x):
        torch.rand(3)
        return m.c(m.b(m.a(x)))

    model = Written(run, LAYERS)
    x = torch.randn(8, 6)
    cuts = cut_each(model, ["a"], x)
    before = torch.get_rng_state()
    list(cuts.values([x]))
    assert torch.equal(before, torch.get_rng_state())


def test_recomputed_values_are_in_fp32_whoever_has_autocast():
    prefix = nn.Linear(64, 32).requires_grad_(False)
    x = torch.randn(40, 64)
    layout = value_layout(prefix(x[:16]), [None], "fp32")
    rows = RecomputedRows(layout, prefix, Inputs(x), 16)
    at = torch.arange(16)
    plain = rows[at]
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(rows[at], plain)


def test_a_checkpoint_keeps_its_code_when_its_learner_is_dropped(tmp_path):
    state = {"w": torch.ones(1)}
    Store(tmp_path, "a", {}, "old").save_checkpoint(1, state, state)
    today = Store(tmp_path, "a", {}, "new")
    today.drop_checkpoint(1, model=False)
    assert today.load_checkpoint(1).code == "old"


def test_one_of_those_that_compete_is_predicted_also_where_all_are_minus_infinity():
    data = Examples(torch.tensor([[0.0, -torch.inf, -torch.inf]]), torch.tensor([1]))
    barred = {"multi": barred_but([[1, 2]], 3, torch.device("cpu"))}
    rows = torch.tensor([0])
    predicted, _ = predict_each(nn.Identity(), data, 3, barred, rows=rows)
    assert int(predicted["multi"]) in (1, 2)


def test_the_task_in_the_input_is_its_number_in_the_data():
    data = Examples(torch.randn(6, 2), torch.arange(6), torch.arange(6) // 2)
    examples = assign_tasks({"train": data, "test": data}, [2, 0, 1])
    net = nn.Linear(2, 6)
    model, aware = make_task_aware(Model(net, head="multi"), examples, lambda: None)
    assert aware.splits["test"].x[-1].tolist() == [0, 0, 1, 1, 2, 2]
    predicted = model.class_call(net, aware.splits["test"].x).argmax(1)
    assert (predicted // 2).tolist() == [0, 0, 1, 1, 2, 2]


def test_fresh_values_that_are_given_are_followed_under_every_rule():
    for given in (network(), network().state_dict()):
        assert Model(network(), fresh=given).source("murata") is given
    assert Model(network(), fresh=network).source("murata") == "murata"


def test_a_job_in_several_files_is_not_finished(tmp_path):
    job = jobs_of(TINY)[0]
    keep(TINY, tmp_path, job, *keys_of(TINY, job))
    store = run_directory.store_of(TINY, tmp_path, job)
    assert not is_finished(TINY, store, job)
    store.finish()
    assert is_finished(TINY, store, job)


def test_each_seed_permutes_labels_and_trains_offline_by_itself():
    torch.manual_seed(0)
    data = points(200)
    result = analyzed(
        {2: network()},
        data,
        data,
        offline="train",
        readouts=probe.Measure(readouts=["ncm"], seeds=2, controls=["labels"]),
        recipe=probe.Recipe(epochs=1),
    )
    controls = set()
    for name, measurements in result.records.measurements.items():
        if name.startswith("model"):
            controls |= {m.values.get("control") for m in measurements.values()}
    assert len(controls - {None}) == 2
    rows = result.to_pandas("diagnostics").query("learner == 'model'")
    rows = rows[rows["metric"] == "cka.offline"]
    assert rows["value"].nunique() == rows["seed"].nunique() == 2


def test_an_analysis_retrains_nothing_that_the_user_has_frozen():
    data = points(60)
    net = network()
    net[2].requires_grad_(False)
    model = Model({2: net}, trainable="as given")
    found = analyzed(model, data, data, readouts=["retrain"])
    frame = probe.predictions(found).query("tasks_seen == 2 and head == 'single'")
    predicted = frame.groupby("readout", observed=True)["predicted"].agg(list)
    assert predicted["retrain"] == predicted[""] != []


def test_units_are_compared_on_examples_of_the_earlier_task(monkeypatch):
    compared = []

    def comparison(**settings):
        compared.append(settings["run"].keywords["x"])
        return Comparison(**settings)

    monkeypatch.setattr("probe.by_layer.networks.Comparison", comparison)
    data = points(60)
    analyzed({1: network(), 2: network()}, data, data, readouts=["ncm"])
    of_task = data[0][data[1] < 2]
    assert torch.isin(compared[0], of_task).all()


def test_causes_of_one_network_speak_of_it_however_often_it_is_probed():
    data = points(60)
    measured = probe.Measure(readouts=["ncm"], seeds=3)
    found = analyzed({1: network(), 2: network()}, data, data, readouts=measured)
    assert set(found.causes()["scope"]) == {"network"}


def test_any_loss_matters_and_an_accuracy_from_its_margin_on(monkeypatch):
    margins = {}

    def estimation(*, is_accuracy, margin, **others):
        margins[is_accuracy] = margin
        return Estimation(is_accuracy=is_accuracy, margin=margin, **others)

    monkeypatch.setattr(causes, "Estimation", estimation)
    analyzed({1: network(), 2: network()}, points(60), points(60), readouts=["ncm"])
    assert margins == {True: MARGIN, False: 0}


def test_a_joint_training_without_effect_is_noted():
    idle = probe.Recipe(epochs=2, learning_rate=1e-12)
    settings = {"offline": "train", "readouts": ["ncm"], "recipe": idle}
    found = analyzed({2: network()}, points(60), points(60), **settings)
    assert any("offline" in note and STUCK in note for note in found.notes)


def test_a_study_draws_tails_by_the_rule_of_its_retraining():
    raw = {
        **toy.RAW,
        "training": {"init": "murata"},
        "retraining": {"init": "torch"},
    }
    study = check_study(raw, "tiny")
    plan = toy.made_plan(study)
    source = StudyNetworks(plan=plan, study=study, scenario=toy.scenario())
    assert source.networks(jobs_of(plan)[0], InMemory()).fresh == "torch"


def test_a_retraining_says_which_classes_it_could_not_learn():
    test = points(60)
    train = Examples(*test).of_classes([0, 2])
    once = probe.Recipe(epochs=1)
    found = analyzed(
        {2: network()},
        train,
        test,
        readouts=["retrain"],
        recipe=once,
    )
    assert "class 1 has no training examples" in " ".join(found.notes)


def test_readouts_of_a_multi_head_network_choose_among_the_classes_of_the_task():
    x = torch.randn(80, 6)
    y = torch.arange(80) % 4
    net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 4))
    found = probe.analyze(
        Model({2: net}, head="multi"),
        (x, y),
        (x, y),
        tasks=[[0, 1], [2, 3]],
        features=["0"],
        readouts=["retrain", "linear", "ncm"],
    )
    frame = probe.predictions(found)
    assert (frame["predicted"] // 2 == frame["label"] // 2).all()


def test_only_outputs_of_trained_networks_may_be_mixed_up():
    x, y = torch.eye(2).repeat(20, 1), torch.arange(40) % 2
    right, swapped = (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)) for _ in range(2))
    for net, first in ((right, [[1.0, 0], [0, 1]]), (swapped, [[0.0, 1], [1, 0]])):
        net[0].weight.data = torch.tensor(first)
        net[1].weight.data = torch.eye(2)
        net[1].bias.data = -net[0].bias
    for networks, count in (({0: right, 1: swapped}, 1), ({0: swapped, 1: right}, 0)):
        notes = probe.analyze(
            networks, (x, y), (x, y), [[0, 1]], ["0"], readouts=["ncm"]
        ).notes
        assert sum("mixed up" in note for note in notes) == count


def test_the_floor_of_a_seed_is_the_first_network_of_its_first_run():
    first = Path("a-0.pt")
    second = Path("b-0.pt")
    runs = {Run("a", "0", 0): {0: first}, Run("b", "0", 0): {0: second}}
    files = Checkpoints(runs=runs, offline={})
    both = {"b": network, "a": network}
    for fresh, floor in ((network, first), (both, second)):
        model = Model(network(), fresh=fresh)
        networks = in_checkpoints(files, network, {}, model)
        assert networks.runs[Run("untrained", "", 0)] == {0: floor}


def test_intervals_include_the_task_just_learned_and_only_later_ones_are_pale():
    rows = invented.rows(["er"], ["output"], tasks=2, orders=1)
    assert len(StudyTables(measurements=rows).seed_errors) == 3
    R = np.full((4, 3), 0.5)
    assert [cell.tone for cell in _matrix(R).cells[2]] == [0, 0, None]


def test_a_ceiling_is_the_last_row_of_the_same_layer_offline():
    low = LEVELS[LEVELS["learner"] == "offline"].assign(
        tasks_seen=0,
        value=0.1,
    )

    def dashed(*rows):
        figure = figures.time(StudyTables(measurements=pd.concat(rows)))
        lines = chain.from_iterable(axes.lines for axes in figure.axes)
        return [line.get_ydata().tolist() for line in lines if line.is_dashed()]

    ceilings = dashed(COURSES, LEVELS)
    assert dashed(COURSES, LEVELS, low) == ceilings
    # That of conv1 is at the same depth.
    renamed = COURSES.replace({"feature": {"conv1": "block1"}})
    assert 0 < len(dashed(renamed, LEVELS)) < len(ceilings)

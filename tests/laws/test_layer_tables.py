"""Every layer's quantity and metric against plain loops over rows, and rows over the networks."""

import copy
from collections import defaultdict
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
import torch

import probe
from probe.metrics.scorecard import scorecard
from tests.laws.tables import OUTPUT, POSITION, accuracies, table
from tests.laws.worlds import NAMES, ORDERS, TASKS, T, of_networks, of_study

CLOSE = {"rel": 1e-9, "abs": 1e-12}


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return of_networks(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return of_study(tmp_path_factory.mktemp("world"))


@pytest.fixture(params=["networks", "study"])
def world(request):
    return request.getfixturevalue(request.param)


class Layer:
    """The accuracies of a layer as they are in the rows, looked up one by one."""

    def __init__(self, world, learner, feature, readout):
        self.world = world
        self.runs = list(product(range(world.seeds), ORDERS))
        self.A, self.floor, self.ceiling = (
            accuracies(world.folder, name, feature, readout)
            for name in (learner, "untrained", "offline")
        )
        self.offline = accuracies(world.folder, "offline", OUTPUT, readout)

    def at(self, seed, order, seen, task):
        """A by number of tasks seen, that of the untrained network before any."""
        found = self.A.get((seed, order, seen, NAMES[task]))
        return self.floor[seed, "", 0, NAMES[task]] if found is None else found

    def control(self, seed, kind, task):
        if kind == "floor":
            return self.floor[seed, "", 0, NAMES[task]]
        return self.ceiling[seed, "", T, NAMES[task]]

    def matrix(self, seed, order):
        """A run's matrix (T+1, T), tasks by position."""
        cells = product(range(T + 1), ORDERS[order])
        values = [self.at(seed, order, *cell) for cell in cells]
        return np.array(values).reshape(T + 1, T)

    def by_position(self, quantity, position):
        """The mean over seeds and orders of a quantity of the task at a position, from 1."""
        values = [self.of_run(quantity, *run, position) for run in self.runs]
        return float(np.mean(values))

    def of_run(self, quantity, seed, order, position):
        task = ORDERS[order][position - 1]
        course = [self.at(seed, order, seen, task) for seen in range(position, T + 1)]
        learned = course[0]
        *between, last = course
        floor = self.control(seed, "floor", task)
        ceiling = self.control(seed, "ceiling", task)
        return {
            "accuracy": last,
            "floor": floor,
            "ceiling": ceiling,
            "strength": self.offline[seed, "", T, NAMES[task]] - last,
            "missing": ceiling - last,
            "never_learned": ceiling - learned,
            "forgotten": learned - last,
            "forgotten_max": max(between, default=np.nan) - last,
            "above_floor": last - floor,
            "offline_adds": ceiling - floor,
            "acquired": learned - floor,
        }[quantity]

    def overall(self, quantity):
        """The same of all tasks, by their test examples; forgetting by positions."""
        positions = range(1, T + 1)
        if quantity in ("forgotten", "forgotten_max"):
            values = [self.by_position(quantity, p) for p in positions[:-1]]
            return float(np.mean(values))
        weights = []
        values = []
        for seed, order in self.runs:
            for p in positions:
                weights.append(self.world.test_counts[ORDERS[order][p - 1]])
                values.append(self.of_run(quantity, seed, order, p))
        return float(np.average(values, weights=weights))

    def of_all(self):
        """Every quantity by name and position, "" for all tasks."""
        whole = (
            "accuracy",
            "floor",
            "ceiling",
            "missing",
            "never_learned",
            "above_floor",
            "acquired",
            "strength",
            "offline_adds",
        )
        partly = ["forgotten", "forgotten_max"]
        found = {(name, ""): self.overall(name) for name in (*whole, *partly)}
        for p in range(1, T + 1):
            names = whole if p == T else (*whole, *partly)
            found |= {(name, str(p)): self.by_position(name, p) for name in names}
        for at in ("", *map(str, range(1, T + 1))):
            room = found["ceiling", at] - found["floor", at]
            found["retained", at] = found["above_floor", at] / room
        learned = found["never_learned", ""] / found["missing", ""]
        found["forgotten_share", ""] = 1 - learned
        worse = [found["never_learned", str(p)] for p in range(1, T + 1)]
        found["never_learned_slope", ""] = np.polyfit(range(T), worse, 1)[0]
        return found


def values_by(frame, *columns):
    """Return the numbers of a table's rows by what stands in other columns."""
    keys = frame[list(columns)].itertuples(index=False, name=None)
    values = frame["value"].replace("", "nan").astype(float)
    return dict(zip(keys, values, strict=True))


def layers(world):
    return list(product(world.learners, (*world.features, OUTPUT), world.readouts))


def test_quantities_of_layers_are_those_of_the_rows(world):
    """None is left out but a ratio whose denominator may be zero."""
    ratios = 0
    for learner, feature, readout in layers(world):
        expected = Layer(world, learner, feature, readout).of_all()
        here = {
            "learner": learner,
            "feature": feature,
            "readout": readout,
        }
        frame = table(world.folder, "layers", **here)
        elsewhere = frame["quantity"].isin(["chance", "own", "inherited"])
        frame = frame[~elsewhere & ~frame["quantity"].str.endswith("_drift")]
        assert set(frame["seeds"]) == {world.seeds}
        got = values_by(frame, "quantity", POSITION)
        undecided = {key for key, value in got.items() if np.isnan(value)}
        assert {name for name, _ in undecided} <= {"retained", "forgotten_share"}
        ratios += sum(
            name == "retained" and (name, at) not in undecided for name, at in got
        )
        assert got.keys() == expected.keys()
        for key in got.keys() - undecided:
            assert got[key] == pytest.approx(expected[key], **CLOSE), (
                learner,
                feature,
                key,
            )
    assert ratios


def gained(folder, run, feature):
    """Return what the second half of a last retraining adds, as NumPy reads it."""
    [path] = folder.glob(f"jobs/{run}/*/predictions.npz")
    shares = {}
    with np.load(path) as a:
        named = (a["tasks_seen"] == T) & (a["feature"] == feature)
        named &= a["readout"] == "retrain"
        for head in ("half", "single"):
            row = named[a["measurement"]] & (a["head"] == head)
            shares[head] = float((a["predicted"][row] == a["label"]).mean())
    return shares["single"] - shares["half"]


def test_drift_is_what_half_of_the_epochs_miss_more_against_a_ceiling_of_as_many(study):
    frame = table(study.folder, "layers", quantity="missing_drift")
    assert set(frame["readout"]) == {"retrain"}
    drifts = values_by(frame, "learner", "feature", POSITION)
    for learner, feature in product(study.learners, study.features):
        moved = []
        for seed, order in product(range(study.seeds), ORDERS):
            run = f"{learner}.order-{order}.seed-{seed}"
            by_learner = gained(study.folder, run, feature)
            by_offline = gained(study.folder, f"offline.seed-{seed}", feature)
            moved.append(by_learner - by_offline)
        assert drifts[learner, feature, ""] == pytest.approx(np.mean(moved), **CLOSE)


def test_metrics_of_layers_are_those_of_each_run_s_matrix(world):
    """Kemker's ideal is the ceiling on the task that the run learns first; R's metrics, too."""
    for learner, feature, readout in layers(world):
        layer = Layer(world, learner, feature, readout)
        cards = {}
        for seed, (name, order) in product(range(world.seeds), ORDERS.items()):
            card = scorecard(
                layer.matrix(seed, name),
                ideal=layer.control(seed, "ceiling", order[0]) or None,
                test_sizes=[world.test_counts[task] for task in order],
            )
            for paper, metric, value in card.rows():
                cards[paper, metric, name, seed] = value
        here = {"feature": feature, "readout": readout}
        if feature == OUTPUT:
            here = {"feature": "", "readout": "", "head": "single"}
        frame = table(world.folder, "metrics", learner=learner, **here)
        values = pd.Series(cards, dtype=float).groupby(level=[0, 1, 3]).mean()
        of_seeds = values.groupby(level=[0, 1])
        means = of_seeds.mean()
        stds = of_seeds.std()
        checked = set()
        for row in frame.itertuples():
            key = row.paper, row.metric
            if key in means:
                found = (float(row.mean), float(row.std))
                assert found == pytest.approx((means[key], stds[key]), **CLOSE), key
                checked.add(row.metric)
        assert {"omega_base", "omega_all", "bwt", "fwt", "forgetting[3]"} <= checked


def values_at(network, feature, x):
    """The feature of all examples in eval mode, the network run up to it, stage by stage."""
    network = copy.deepcopy(network).eval()
    with torch.no_grad():
        for name, stage in network.named_children():
            x = stage(x)
            if name == feature:
                break
        return x.flatten(1).double()


def by_class_means(world, network, feature):
    """Predictions by the nearest class mean of the standardized feature."""
    (x, y), (test, _) = world.train, world.test
    seen, tested = (values_at(network, feature, half) for half in (x, test))
    spread = seen.std(0, unbiased=False)
    spread[spread < 1e-6] = 1
    seen, tested = ((half - seen.mean(0)) / spread for half in (seen, tested))
    means = torch.stack([seen[y == label].mean(0) for label in range(10)])
    distances = (tested[:, None] - means).norm(dim=2)
    return distances.argmin(1).numpy()


def unseen(tasks):
    """Return the classes of no such task."""
    return np.setdiff1d(range(10), np.concatenate([TASKS[task] for task in tasks]))


def by_outputs(world, network, learned):
    """Predictions among the classes of the tasks learned, all before the first."""
    scores = values_at(network, "", world.test[0])
    if learned:
        scores[:, unseen(learned)] = -torch.inf
    return scores.argmax(1).numpy()


def test_rows_are_the_accuracies_of_the_networks_in_eval_mode(world):
    """By class means at every layer, and by the output."""
    y = world.test[1].numpy()
    compared = 0
    for (kind, seed, names), network in world.networks.items():
        if kind not in world.learners or names[:1] == ("before",):
            continue
        [order] = [name for name in ORDERS if NAMES[ORDERS[name][0]] == names[0]]
        for feature in (*world.features, OUTPUT):
            # In float32 and in batches an example between two means may fall either
            # way.
            close = {"abs": 1.5} if feature != OUTPUT else CLOSE
            if feature == OUTPUT:
                predicted = by_outputs(world, network, ORDERS[order][: len(names)])
            else:
                predicted = by_class_means(world, network, feature)
            rows = accuracies(world.folder, kind, feature, "ncm")
            for task, name in enumerate(NAMES):
                own = np.isin(y, TASKS[task])
                right = int((predicted[own] == y[own]).sum())
                found = rows[seed, order, len(names), name] * own.sum()
                assert found == pytest.approx(right, **close)
                compared += 1
    assert compared == len(world.learners) * world.seeds * len(ORDERS) * T * 3 * T


def test_a_seed_s_learners_and_orders_start_from_the_same_weights(study):
    """Each seed from others: no two have a parameter in common but those that start at 0 or 1."""
    starts = {0: [], 1: []}
    for (_, seed, names), network in study.networks.items():
        if names[:1] == ("before",):
            starts[seed].append(dict(network.named_parameters()))
    # Two learners in two orders, and the offline network.
    assert [len(own) for own in starts.values()] == [5, 5]
    for own in starts.values():
        for other in own[1:]:
            assert all(torch.equal(own[0][name], p) for name, p in other.items())
    for name, p in starts[0][0].items():
        if p.std() > 0:
            assert not (p == starts[1][0][name]).any(), name


def after_each_task(world, learner, seed, order):
    """Return a run's networks after one task and after each later one."""
    names = [NAMES[task] for task in order]
    return [world.networks[learner, seed, tuple(names[:k])] for k in range(1, T + 1)]


def put_together(network, earlier, names):
    """Return a copy whose tensors with names that begin so are those of an earlier network."""
    hybrid = copy.deepcopy(network)
    before = earlier.state_dict()
    state = {name: before[name] for name in before if name.startswith(names)}
    hybrid.load_state_dict(state, strict=False)
    return hybrid


class Causes:
    """What the blocks of a network do to each test example, one hybrid at a time."""

    def __init__(self, world):
        self.x, y = world.test
        self.y = y.numpy()
        self.blocks = (*world.features, OUTPUT)
        self.of_task = np.stack([np.isin(self.y, task) for task in TASKS])

    def means(self, values):
        """Return the mean of each task's values."""
        return self.of_task @ values / self.of_task.sum(1)

    def predicted(self, network, learned):
        """Return the predictions among the classes learned."""
        with torch.no_grad():
            scores = copy.deepcopy(network).eval()(self.x)
        scores[:, unseen(learned)] = -torch.inf
        return scores.argmax(1).numpy()

    def prefixes(self, names, tensors):
        """Return how the tensors of some blocks begin: the output's are those of no other."""
        inner = tuple(f"{name}." for name in self.blocks[:-1])
        prefixes = [f"{name}." for name in names - {OUTPUT}]
        if OUTPUT in names:
            prefixes += [name for name in tensors if not name.startswith(inner)]
        return tuple(prefixes)

    def pieces(self, before, last, order, j):
        """Return each quantity of each block, (N,), since the task that was learned at j."""
        tensors = last.state_dict()
        value = {}
        for size in range(len(self.blocks) + 1):
            for names in map(frozenset, combinations(self.blocks, size)):
                hybrid = put_together(last, before, self.prefixes(names, tensors))
                value[names] = 1.0 * (self.predicted(hybrid, order) == self.y)
        every = frozenset(self.blocks)
        none = frozenset()
        first = self.predicted(before, order[:j]) == self.y
        found = {
            ("lost", ""): value[every] - value[none],
            ("competition", ""): first - value[every],
            ("forgotten", ""): first - value[none],
        }
        for block in self.blocks:
            own = frozenset({block})
            joined = [frozenset(o[: o.index(block)]) for o in permutations(self.blocks)]
            gains = [value[names | own] - value[names] for names in joined]
            found["attributed", block] = np.mean(gains, axis=0)
            found["restored", block] = value[own] - value[none]
            found["broken", block] = value[every] - value[every - own]
            found["net", block] = found["restored", block]
        return found


def test_causes_are_shapley_values_of_networks_put_together_apart(world):
    """The mean over all orders of putting back blocks, and what one block does without others."""
    causes = Causes(world)
    for learner in world.learners:
        cells = defaultdict(list)
        for seed, order in product(range(world.seeds), ORDERS.values()):
            *earlier, last = after_each_task(world, learner, seed, order)
            for j, before in enumerate(earlier, 1):
                for name, values in causes.pieces(before, last, order, j).items():
                    means = causes.means(values)
                    mean = means.mean() if name[0] == "net" else means[order[j - 1]]
                    cells[*name, str(j)].append(mean)
        expected = {name: np.mean(values) for name, values in cells.items()}
        for quantity, block, _ in cells:
            positions = [expected[quantity, block, str(j)] for j in range(1, T)]
            expected[quantity, block, ""] = np.mean(positions)
        frame = table(world.folder, "causes", learner=learner, score="accuracy")
        got = values_by(frame, "quantity", "feature", POSITION)
        assert got.keys() == expected.keys()
        for key in got:
            assert got[key] == pytest.approx(expected[key], **CLOSE), (learner, key)


def test_causes_of_an_example_are_those_of_networks_put_together_apart(world):
    causes = Causes(world)
    frame = probe.example_causes(world.folder)
    place = ["learner", "order", "seed", POSITION, "feature"]
    rows = set()
    for learner, seed, (name, order) in product(
        world.learners, range(world.seeds), ORDERS.items()
    ):
        *earlier, last = after_each_task(world, learner, seed, order)
        for j, before in enumerate(earlier, 1):
            pieces = causes.pieces(before, last, order, j)
            of_task = np.flatnonzero(causes.of_task[order[j - 1]])
            for block in causes.blocks:
                columns = [learner, name, seed, j, block]
                got = frame[(frame[place] == columns).all(axis=1)]
                rows.update(got.index)
                assert got["label"].tolist() == causes.y[of_task].tolist()
                after = causes.predicted(last, order)[of_task]
                assert got["after"].tolist() == after.tolist()
                put_back = causes.predicted(before, order)[of_task]
                assert got["before"].tolist() == put_back.tolist()
                for quantity in ("attributed", "restored", "broken"):
                    piece = pieces[quantity, block][of_task]
                    assert got[quantity].tolist() == pytest.approx(piece)
                assert got["lost"].tolist() == pieces["lost", ""][of_task].tolist()
    assert rows == set(frame.index)
    answers = probe.predictions(world.folder).query(
        f"readout == '' and tasks_seen == {T}"
    )
    run = [*place[:4], "example", "label"]
    same = frame.merge(answers.query("head == 'single'"), on=run, how="left")
    assert (same["after"] == same["predicted"]).all()
    losses = probe.example_causes(world.folder, "loss")
    by_run = losses.groupby(place, observed=True)["attributed"].mean()
    means = by_run.groupby(["learner", POSITION, "feature"], observed=True).mean()
    stated = table(world.folder, "causes", score="loss", quantity="attributed")
    at_positions = stated[stated[POSITION] != ""]
    assert len(at_positions) >= len(means)
    for row in at_positions.itertuples():
        mean = means[row.learner, int(row.task_position), row.feature]
        assert mean == pytest.approx(float(row.value), **CLOSE)


def shares_of_change(world, feature, networks, of_task):
    """Return what a feature lost by its own change, and what by that of layers before it."""
    before, last = networks
    depth = world.features.index(feature)
    upstream = tuple(f"{name}." for name in world.features[:depth])

    def read(network, names):
        hybrid = put_together(network, before, names)
        predicted = by_class_means(world, hybrid, feature)
        return float((predicted == world.test[1].numpy())[of_task].mean())

    now = read(last, ())
    first = read(before, ())
    mixed = read(last, upstream)
    block = read(last, (f"{feature}.",))
    own = ((first - mixed) + (block - now)) / 2
    return own, first - now - own


def test_own_and_inherited_change_are_read_from_networks_put_together_apart(world):
    """By class means, whose predictions may differ from plain ones in an example or two."""
    y = world.test[1].numpy()
    for learner, feature in product(world.learners, world.features):
        cells = defaultdict(list)
        for seed, order in product(range(world.seeds), ORDERS.values()):
            *earlier, last = after_each_task(world, learner, seed, order)
            for j, before in enumerate(earlier, 1):
                of_task = np.isin(y, TASKS[order[j - 1]])
                pair = before, last
                own, inherited = shares_of_change(world, feature, pair, of_task)
                cells["own", str(j)].append(own)
                cells["inherited", str(j)].append(inherited)
        here = {
            "learner": learner,
            "feature": feature,
            "readout": "ncm",
        }
        frame = table(world.folder, "layers", **here)
        got = values_by(frame, "quantity", POSITION)
        for key, values in cells.items():
            assert got[key] == pytest.approx(np.mean(values), abs=0.03)
        for at in ("", *map(str, range(1, T))):
            parts = got["own", at] + got["inherited", at]
            assert parts == pytest.approx(got["forgotten", at], **CLOSE)
            assert feature != world.features[0] or got["inherited", at] == 0

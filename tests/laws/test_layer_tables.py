"""Every layer's quantity and metric against plain loops over rows, and rows over the networks."""

import copy
from itertools import combinations, permutations, product

import numpy as np
import pytest
import torch

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

    def __init__(
        self,
        world,
        learner,
        feature,
        readout,
    ):
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
        each = [
            [self.at(seed, order, seen, task) for task in ORDERS[order]]
            for seen in range(T + 1)
        ]
        return np.array(each)

    def by_position(self, quantity, position):
        """The mean over seeds and orders of a quantity of the task at a position, from 1."""
        return float(
            np.mean([self.of_run(quantity, *run, position) for run in self.runs])
        )

    def of_run(
        self,
        quantity,
        seed,
        order,
        position,
    ):
        task = ORDERS[order][position - 1]
        last, learned = (self.at(seed, order, seen, task) for seen in (T, position))
        floor, ceiling = (
            self.control(seed, kind, task) for kind in ("floor", "ceiling")
        )
        between = [self.at(seed, order, seen, task) for seen in range(position, T)]
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
            return float(
                np.mean([self.by_position(quantity, p) for p in positions[:-1]])
            )
        weights = []
        values = []
        for seed, order in self.runs:
            for p in positions:
                weights.append(self.world.test_counts[ORDERS[order][p - 1]])
                values.append(self.of_run(quantity, seed, order, p))
        return float(np.average(values, weights=weights))

    def of_all(self):
        """Every quantity by name and position, "" for all tasks."""
        whole = [
            "accuracy",
            "floor",
            "ceiling",
            "missing",
            "never_learned",
            "above_floor",
        ]
        whole += ["acquired", "strength", "offline_adds"]
        partly = ["forgotten", "forgotten_max"]
        found = {(name, ""): self.overall(name) for name in (*whole, *partly)}
        for p in range(1, T + 1):
            names = whole if p == T else (*whole, *partly)
            found |= {(name, str(p)): self.by_position(name, p) for name in names}
        for at in ("", *map(str, range(1, T + 1))):
            found["retained", at] = found["above_floor", at] / (
                found["ceiling", at] - found["floor", at]
            )
        found["forgotten_share", ""] = (
            1 - found["never_learned", ""] / found["missing", ""]
        )
        worse = [found["never_learned", str(p)] for p in range(1, T + 1)]
        found["never_learned_slope", ""] = np.polyfit(range(T), worse, 1)[0]
        return found


def layers(world):
    return list(product(world.learners, (*world.features, OUTPUT), world.readouts))


def test_quantities_of_layers_are_those_of_the_rows(world):
    """None is left out but a ratio whose denominator may be zero."""
    ratios = 0
    for learner, feature, readout in layers(world):
        expected = Layer(world, learner, feature, readout).of_all()
        here = {"learner": learner, "feature": feature, "readout": readout}
        frame = table(world.folder, "layers", **here)
        elsewhere = frame["quantity"].isin(["chance", "own", "inherited"])
        frame = frame[~elsewhere & ~frame["quantity"].str.endswith("_drift")]
        assert set(frame["seeds"]) == {world.seeds}
        got = {
            (name, str(position)): float(value or "nan")
            for name, position, value in zip(
                frame["quantity"],
                frame[POSITION],
                frame["value"],
                strict=True,
            )
        }
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


def right(folder, run, seen, feature, head):
    """Return the share of right predictions of a retraining as NumPy reads them."""
    [path] = folder.glob(f"jobs/{run}/*/predictions.npz")
    with np.load(path) as a:
        named = (
            (a["tasks_seen"] == seen)
            & (a["feature"] == feature)
            & (a["readout"] == "retrain")
        )
        row = named[a["measurement"]] & (a["head"] == head)
        return float((a["predicted"][row] == a["label"]).mean())


def test_drift_is_what_half_of_the_epochs_miss_more_against_a_ceiling_of_as_many(
    study,
):
    for learner, feature in product(study.learners, study.features):
        moved = []
        for seed, order in product(range(study.seeds), ORDERS):
            runs = (
                (f"offline.seed-{seed}", 1),
                (f"{learner}.order-{order}.seed-{seed}", -1),
            )
            moved += [
                sign
                * (
                    right(study.folder, run, T, feature, "half")
                    - right(study.folder, run, T, feature, "single")
                )
                for run, sign in runs
            ]
        frame = table(
            study.folder,
            "layers",
            learner=learner,
            feature=feature,
            readout="retrain",
        )
        frame = frame[(frame["quantity"] == "missing_drift") & (frame[POSITION] == "")]
        assert float(frame["value"].item()) == pytest.approx(
            2 * np.mean(moved), **CLOSE
        )
        assert table(
            study.folder,
            "layers",
            readout="ncm",
            quantity="missing_drift",
        ).empty


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
            cards[seed, name] = {
                (paper, metric): value for paper, metric, value in card.rows()
            }
        at_output = feature == OUTPUT
        here = {"feature": "", "head": "single"} if at_output else {"feature": feature}
        frame = table(
            world.folder,
            "metrics",
            learner=learner,
            readout="" if at_output else readout,
            **here,
        )
        columns = (frame[name] for name in ("paper", "metric", "mean", "std"))
        got = {
            (paper, metric): (mean, std)
            for paper, metric, mean, std in zip(*columns, strict=True)
        }
        checked = set()
        for key in got.keys() & cards[0, "cyclic"].keys():
            values = {
                run: card[key] for run, card in cards.items() if card[key] is not None
            }
            seeds = [
                np.mean([value for (s, _), value in values.items() if s == seed])
                for seed in dict.fromkeys(seed for seed, _ in values)
            ]
            mean, std = map(float, (np.mean(seeds), np.std(seeds, ddof=1)))
            assert tuple(map(float, got[key])) == pytest.approx((mean, std), **CLOSE), (
                key
            )
            checked.add(key[1])
        assert {"omega_base", "omega_all", "bwt", "fwt", "forgetting[3]"} <= checked


def values_at(network, feature, x):
    """The feature of each example in eval mode, the network run up to it, one by one."""
    network = copy.deepcopy(network).eval()
    with torch.no_grad():
        each = []
        for one in x.split(1):
            for name, stage in network.named_children():
                one = stage(one)
                if name == feature:
                    break
            each.append(one.flatten())
        return torch.stack(each).double()


def by_class_means(world, network, feature):
    """Predictions by the nearest class mean of the standardized feature."""
    (x, y), (test, _) = world.train, world.test
    seen, tested = (values_at(network, feature, half) for half in (x, test))
    spread = seen.std(0, unbiased=False)
    spread[spread < 1e-6] = 1
    seen, tested = ((half - seen.mean(0)) / spread for half in (seen, tested))
    means = torch.stack([seen[y == label].mean(0) for label in range(10)])
    return (
        torch.cdist(tested, means, compute_mode="donot_use_mm_for_euclid_dist")
        .argmin(1)
        .numpy()
    )


def by_outputs(world, network, learned):
    """Predictions among the classes learned, all before the first task."""
    scores = values_at(network, "", world.test[0])
    barred = [label for label in range(10) if learned and label not in learned]
    scores[:, barred] = -torch.inf
    return scores.argmax(1).numpy()


def test_rows_are_the_accuracies_of_the_networks_in_eval_mode(world):
    """By class means at every layer, and by the output, example by example."""
    y = world.test[1].numpy()
    compared = 0
    for (kind, seed, names), network in world.networks.items():
        if kind not in world.learners or names[:1] == ("before",):
            continue
        [(order, tasks)] = [
            (n, o) for n, o in ORDERS.items() if NAMES[o[0]] == names[0]
        ]
        classes = [label for task in tasks[: len(names)] for label in TASKS[task]]
        for feature in (*world.features, OUTPUT):
            at_output = feature == OUTPUT
            predicted = (
                by_outputs(world, network, classes)
                if at_output
                else by_class_means(world, network, feature)
            )
            rows = accuracies(world.folder, kind, feature, "ncm")
            for task, name in enumerate(NAMES):
                own = np.isin(y, TASKS[task])
                right = int((predicted[own] == y[own]).sum())
                found = rows[seed, order, len(names), name] * own.sum()
                # In float32 and in batches an example between two means may fall either
                # way.
                assert (
                    abs(found - right) < 1.5
                    if not at_output
                    else found == pytest.approx(right)
                )
                compared += 1
    assert compared == len(world.learners) * world.seeds * len(ORDERS) * T * 3 * T


def test_a_seed_s_learners_and_orders_start_from_the_same_weights(study):
    """Each seed from others: no two have a parameter in common but those that start at 0 or 1."""
    starts = {0: [], 1: []}
    for (_, seed, names), network in study.networks.items():
        if names[:1] == ("before",):
            starts[seed].append(
                {name: p.detach() for name, p in network.named_parameters()}
            )
    # Two learners in two orders, and the offline network.
    assert [len(own) for own in starts.values()] == [5, 5]
    for own in starts.values():
        for other in own[1:]:
            assert all(torch.equal(own[0][name], p) for name, p in other.items())
    for name, p in starts[0][0].items():
        if p.std() > 0:
            assert not (p == starts[1][0][name]).any(), name


def test_causes_are_shapley_values_of_networks_put_together_apart(world):
    """The mean over all orders of putting back blocks, and what one block does without others."""
    x, y = world.test
    blocks = (*world.features, OUTPUT)
    weights = np.concatenate(
        [np.isin(y, task)[None] / np.isin(y, task).sum() for task in TASKS]
    )

    def block_of(tensor):
        return next(
            (name for name in world.features if tensor.startswith(f"{name}.")), OUTPUT
        )

    def right(network, learned):
        barred = [
            c
            for c in range(10)
            if c not in [c for task in learned for c in TASKS[task]]
        ]
        with torch.no_grad():
            scores = copy.deepcopy(network).eval()(x)
        scores[:, barred] = -torch.inf
        return (scores.argmax(1) == y).numpy()

    for learner in world.learners:
        cells = {}
        for seed, order in product(range(world.seeds), ORDERS.values()):
            after = [
                world.networks[learner, seed, tuple(NAMES[t] for t in order[: k + 1])]
                for k in range(T)
            ]
            for j, before in enumerate(after[:-1], 1):
                scores = {}
                for put_back in (
                    set(some) for n in range(4) for some in combinations(blocks, n)
                ):
                    hybrid = copy.deepcopy(after[-1])
                    earlier = before.state_dict()
                    state = {n: earlier[n] for n in earlier if block_of(n) in put_back}
                    hybrid.load_state_dict(state, strict=False)
                    scores[frozenset(put_back)] = weights @ right(hybrid, order)
                v = {some: by_task[order[j - 1]] for some, by_task in scores.items()}
                every = frozenset(blocks)
                none = frozenset()
                first = weights[order[j - 1]] @ right(before, order[:j])
                cells.setdefault(("lost", "", j), []).append(v[every] - v[none])
                cells.setdefault(("competition", "", j), []).append(first - v[every])
                cells.setdefault(("forgotten", "", j), []).append(first - v[none])
                for block in blocks:
                    own = frozenset({block})
                    joined = [
                        frozenset(o[: o.index(block)]) for o in permutations(blocks)
                    ]
                    pieces = {
                        "attributed": np.mean(
                            [v[some | own] - v[some] for some in joined]
                        ),
                        "restored": v[own] - v[none],
                        "broken": v[every] - v[every - own],
                        "net": (scores[own] - scores[none]).mean(),
                    }
                    for name, value in pieces.items():
                        cells.setdefault((name, block, j), []).append(value)
        frame = table(
            world.folder,
            "causes",
            learner=learner,
            score="accuracy",
        )
        columns = (frame[name] for name in ("quantity", "feature", POSITION, "value"))
        got = {(q, f, p): float(value) for q, f, p, value in zip(*columns, strict=True)}
        expected = {
            (q, f, str(j)): np.mean(values) for (q, f, j), values in cells.items()
        }
        for q, f, _ in list(cells):
            expected[q, f, ""] = np.mean([expected[q, f, str(j)] for j in range(1, T)])
        assert got.keys() == expected.keys()
        for key in got:
            assert got[key] == pytest.approx(expected[key], **CLOSE), (learner, key)


def test_own_and_inherited_change_are_read_from_networks_put_together_apart(
    world,
):
    """By class means, whose predictions may differ from plain ones in an example or two."""
    y = world.test[1].numpy()
    for learner, feature in product(world.learners, world.features):
        depth = world.features.index(feature)
        cells = {}
        upstream = tuple(f"{name}." for name in world.features[:depth])
        for seed, order in product(range(world.seeds), ORDERS.values()):
            after = [
                world.networks[learner, seed, tuple(NAMES[t] for t in order[: k + 1])]
                for k in range(T)
            ]
            for j, before in enumerate(after[:-1], 1):
                of_task = np.isin(y, TASKS[order[j - 1]])

                def read(network, put_back):
                    hybrid, earlier = copy.deepcopy(network), before.state_dict()  # noqa: B023
                    state = {n: x for n, x in earlier.items() if n.startswith(put_back)}
                    hybrid.load_state_dict(state, strict=False)
                    right = by_class_means(world, hybrid, feature) == y  # noqa: B023
                    return float(right[of_task].mean())  # noqa: B023

                now = read(after[-1], ())
                first = read(before, ())
                mixed = read(after[-1], upstream)
                block = read(after[-1], (f"{feature}.",))
                own = ((first - mixed) + (block - now)) / 2
                cells.setdefault(("own", j), []).append(own)
                cells.setdefault(("inherited", j), []).append(first - now - own)
        frame = table(
            world.folder,
            "layers",
            learner=learner,
            feature=feature,
            readout="ncm",
        )
        columns = (frame[name] for name in ("quantity", POSITION, "value"))
        got = {(q, p): float(x or "nan") for q, p, x in zip(*columns, strict=True)}
        for (quantity, j), values in cells.items():
            assert got[quantity, str(j)] == pytest.approx(np.mean(values), abs=0.03)
        for at in ("", *map(str, range(1, T))):
            parts = got["own", at] + got["inherited", at]
            assert parts == pytest.approx(got["forgotten", at], **CLOSE)
            assert depth or got["inherited", at] == 0

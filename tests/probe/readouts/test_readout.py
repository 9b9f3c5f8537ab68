"""Readouts by name: refusals, and nearest means and neighbours against scikit-learn."""

import pytest
import torch
from pydantic import ValidationError
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import StandardScaler

from probe.by_layer.probing import Measure, ProbingSpec
from probe.errors import InputError
from probe.examples import Examples
from probe.extensions import readout
from probe.readouts import readout as readouts
from probe.readouts.linear import fit_linear
from probe.readouts.readout import READOUTS, Knn, Linear, Ncm, read, read_each
from probe.tasks import Task


@pytest.mark.parametrize("name", [name for name in READOUTS if name != "retrain"])
@pytest.mark.parametrize("half", ["training", "test"])
def test_what_is_not_finite_is_refused(name, half):
    x, y, test, _ = clouds()
    (x if half == "training" else test)[3, 2] = torch.nan
    with pytest.raises(InputError, match=half):
        read(
            READOUTS[name].readout(),
            x,
            y,
            test,
            4,
        )


@pytest.mark.parametrize(
    "predicted",
    [
        None,
        torch.zeros(3).long(),
        torch.zeros(200),
        torch.full((200,), 4),
        torch.full((200,), -1),
    ],
)
def test_predictions_that_are_no_classes_are_refused(predicted):
    @readout("mine")
    class Mine:
        def predict(
            self,
            x,
            y,
            test,
            classes,
        ):
            return predicted

    x, y, test, _ = clouds()
    with pytest.raises(InputError, match=r"'mine' predicts .*\(200,\)"):
        read(
            Mine(),
            x,
            y,
            test,
            4,
        )


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"C": 0.0}, Linear),
        ({"C": torch.inf}, Linear),
        ({"k": 0}, Knn),
        ({"k": 2.5}, Knn),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, name):
    with pytest.raises(InputError, match=next(iter(settings))):
        name(**settings)


def clouds():
    draw = torch.Generator().manual_seed(0)
    centres = torch.randn(4, 9, generator=draw)
    y = torch.randint(4, (700,), generator=draw)
    x = (centres[y] + 1.2 * torch.randn(700, 9, generator=draw)) * torch.logspace(
        -3, 3, 9
    )
    x[:, 4] = 2.5  # a constant column
    return x[:500], y[:500], x[500:], y[500:]


def scaled(x, test):
    scaler = StandardScaler().fit(x.double().numpy())
    return scaler.transform(x.double().numpy()), scaler.transform(test.double().numpy())


@pytest.mark.parametrize("classes", [4, 6])  # of two there is nothing to learn from
def test_nearest_class_mean_is_scikit_learns(classes, monkeypatch):
    monkeypatch.setattr(readouts, "_COLUMNS", 64)
    x, y, test, truth = clouds()
    train, later = scaled(x, test)
    expected = NearestCentroid().fit(train, y.numpy()).predict(later)
    ours = Ncm().predict(x, y, test, classes)
    assert ours.tolist() == expected.tolist()
    assert (ours == truth).double().mean() > 0.5


@pytest.mark.parametrize("k", [1, 10, 500])
@pytest.mark.parametrize("block", [64, 8192])
def test_k_nearest_is_scikit_learns_whatever_fits_in_memory(
    k,
    block,
    monkeypatch,
):
    monkeypatch.setattr(readouts, "_COLUMNS", block)
    monkeypatch.setattr(readouts, "_ROWS", block)
    x, y, test, _ = clouds()
    train, later = scaled(x, test)
    expected = KNeighborsClassifier(n_neighbors=k).fit(train, y.numpy()).predict(later)
    assert Knn(k=k).predict(x, y, test, 4).tolist() == expected.tolist()


def test_all_examples_as_neighbours_give_the_largest_class_and_ties_the_lowest():
    x = torch.tensor(
        [
            [0.0],
            [1.0],
            [2.0],
            [3.0],
        ]
    )
    test = torch.tensor(
        [
            [-1.0],
            [4.0],
        ]
    )
    assert Knn(k=4).predict(
        x,
        torch.tensor([2, 1, 1, 2]),
        test,
        3,
    ).tolist() == [1, 1]
    assert Knn(k=4).predict(
        x,
        torch.tensor([2, 2, 1, 2]),
        test,
        3,
    ).tolist() == [2, 2]


def test_k_examples_of_each_class_are_what_it_is_fitted_to():
    x, y, test, test_y = clouds()
    fitted = []
    kept = {}

    class Seen(Linear):
        def predict(
            self,
            x,
            y,
            test,
            classes,
        ):
            fitted[:] = [
                x,
                y,
            ]
            return super().predict(x, y, test, classes)

    def rows(x, y):
        return {
            tuple(row)
            for row in torch.column_stack(
                [
                    x,
                    y,
                ]
            ).tolist()
        }

    def read_with(k, seed, order):
        train = Examples(x[order], y[order])
        named = {
            "index": 1,
            "name": "t",
            "classes": (0, 1, 2, 3),
        }
        task = Task(
            **named,
            train=train,
            test=Examples(test, test_y),
        )
        return read_each(
            Seen(per_class=k),
            x[order],
            test,
            [task],
            seed,
        ).predicted

    for seed, k in ((0, 3), (0, 20), (0, 999), (1, 20)):
        predicted = read_with(k, seed, torch.arange(len(x)))
        assert torch.bincount(fitted[1]).tolist() == [
            min(k, n) for n in torch.bincount(y)
        ]
        assert (predicted == fit_linear(*fitted, 4).predict(test)).all()
        kept[seed, k] = rows(*fitted)
    assert kept[0, 3] < kept[0, 20] < kept[0, 999] == rows(x, y)
    assert kept[0, 20] != kept[1, 20]
    # Whatever the order of the classes.
    read_with(20, 0, y.argsort(descending=True, stable=True))
    assert rows(*fitted) == kept[0, 20]


def test_it_is_noted_that_a_class_has_fewer_examples():
    data = Examples(torch.eye(2), torch.arange(2))
    task = Task(index=1, name="", classes=(0, 1), train=data, test=data)
    for per_class in (1, 2):
        result = read_each(Linear(per_class=per_class), data.x, data.x, [task])
        assert len(result.notes) == per_class - 1


@pytest.mark.parametrize(
    "table",
    [
        {"ncm:5": {}},
        {"linear:0": {}},
        {"linear": {"per_class": 5}},
    ],
)
def test_only_a_name_says_how_many_examples(table):
    with pytest.raises(ValidationError):
        ProbingSpec(readouts=table)
    assert (
        ProbingSpec(readouts={"linear:5": {}})
        .readouts["linear:5"]
        .settings["per_class"]
        == 5
    )
    with pytest.raises(InputError, match="ncm:5"):
        Measure(readouts=["ncm:5"]).probing  # noqa: B018
    assert set(
        Measure(
            readouts=[
                "linear",
                Linear(per_class=5),
            ]
        ).probing.readouts
    ) == {
        "linear",
        "linear:5",
    }

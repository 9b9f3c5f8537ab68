"""Results written for TensorBoard and wandb are read back as they are in the tables."""

import json
import sys

import pytest

import probe
from probe.errors import InputError
from probe.tables.export import scalars
from tests.probe.calls import DATA, TASKS, net


@pytest.fixture(scope="module")
def found():
    return probe.analyze(
        {1: net(), 2: net()}, DATA, DATA, TASKS, ["1"], net(), readouts=["linear"]
    )


def values_by_tag(found):
    return {(tag, t): value for tag, t, value in scalars(found.tables())}


def test_the_scalars_are_those_of_the_tables(found):
    """Two tasks of as many examples: the accuracy of all is the mean of a row of A."""
    written = values_by_tag(found)
    for feature, layer in (("1", "1/linear"), ("output", "output")):
        floor, *rows = found.matrix(feature, "linear").values
        assert written[f"accuracy/untrained/{layer}", 0] == pytest.approx(floor.mean())
        for tasks_seen, row in enumerate(rows, 1):
            accuracy = written[f"accuracy/model/{layer}", tasks_seen]
            assert accuracy == pytest.approx(row.mean())
    layers = found.layers().query("quantity == 'forgotten' and task_position.isna()")
    forgotten = layers[layers["feature"] == "1"]["value"].item()
    assert written["layers/forgotten/model/1/linear", 2] == forgotten


@pytest.mark.parametrize("by_writer", [True, False])
def test_tensorboard(found, tmp_path, by_writer):
    events = "tensorboard.backend.event_processing.event_accumulator"
    events = pytest.importorskip(events, reason="to read what TensorBoard reads")
    from torch.utils.tensorboard import SummaryWriter

    target = tmp_path
    if by_writer:
        target = SummaryWriter(str(tmp_path))
    found.to_tensorboard(target)
    read = events.EventAccumulator(str(tmp_path)).Reload()
    values = {}
    for tag in read.Tags()["scalars"]:
        values |= {(tag, event.step): event.value for event in read.Scalars(tag)}
    assert values == pytest.approx(values_by_tag(found))
    (text,) = read.Tensors("tables/text_summary")
    assert b"forgotten" in text.tensor_proto.string_val[0]


def test_wandb(found, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="to log to one of its runs")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for hooked in ("exit", "excepthook"):  # which a run replaces for good
        monkeypatch.setattr(sys, hooked, getattr(sys, hooked))
    with wandb.init(mode="offline", dir=tmp_path) as run:
        found.to_wandb(run)
        last = {tag: value for tag, _, value in scalars(found.tables())}
        for tag, value in last.items():
            assert run.summary[tag] == value
        (path,) = tmp_path.rglob("media/table/tables/layers_*.json")
        assert len(json.loads(path.read_text())["data"]) == len(found.layers())


def test_a_package_that_is_missing(found, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match="pip install tensorboard"):
        found.to_tensorboard(tmp_path)

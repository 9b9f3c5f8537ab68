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


def test_the_scalars_are_those_of_the_tables(found):
    """Two tasks of as many examples: the accuracy of all is the mean of a row of A."""
    written = {
        (tag, tasks_seen): value for tag, tasks_seen, value in scalars(found.tables())
    }
    for feature, layer in (("1", "1/linear"), ("output", "output")):
        floor, *rows = found.matrix(feature, "linear").values
        assert written[f"accuracy/untrained/{layer}", 0] == pytest.approx(floor.mean())
        for tasks_seen, row in enumerate(rows, 1):
            assert written[f"accuracy/model/{layer}", tasks_seen] == pytest.approx(
                row.mean()
            )
    layers = found.layers().query("quantity == 'forgotten' and task_position.isna()")
    forgotten = layers[layers["feature"] == "1"]["value"].item()
    assert written["layers/forgotten/model/1/linear", 2] == forgotten


@pytest.mark.parametrize("by_writer", [True, False])
def test_tensorboard(found, tmp_path, by_writer):
    events = "tensorboard.backend.event_processing.event_accumulator"
    events = pytest.importorskip(events, reason="to read what TensorBoard reads")
    from torch.utils.tensorboard import SummaryWriter

    found.to_tensorboard(SummaryWriter(str(tmp_path)) if by_writer else tmp_path)
    read = events.EventAccumulator(str(tmp_path)).Reload()
    tags = read.Tags()["scalars"]
    own = {
        (tag, event.step): event.value for tag in tags for event in read.Scalars(tag)
    }
    assert own == {
        (t, tasks_seen): pytest.approx(x)
        for t, tasks_seen, x in scalars(found.tables())
    }
    (text,) = read.Tensors("tables/text_summary")
    assert b"forgotten" in text.tensor_proto.string_val[0]


def test_wandb(found, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="to log to one of its runs")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for hooked in ("exit", "excepthook"):  # which a run replaces for good
        monkeypatch.setattr(sys, hooked, getattr(sys, hooked))
    with wandb.init(mode="offline", dir=tmp_path) as run:
        found.to_wandb(run)
        for tag, value in {
            tag: value for tag, _, value in scalars(found.tables())
        }.items():
            assert run.summary[tag] == value  # the last
        (path,) = tmp_path.rglob("media/table/tables/layers_*.json")
        assert len(json.loads(path.read_text())["data"]) == len(found.layers())


def test_a_package_that_is_missing(found, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match="pip install tensorboard"):
        found.to_tensorboard(tmp_path)

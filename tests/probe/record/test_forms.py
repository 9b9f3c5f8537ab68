"""Every form of saving a network in the table of docs/checkpoints.md is read back exactly."""

import re
from argparse import Namespace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.optim.swa_utils import AveragedModel

from probe.by_layer.trained_networks import trained_networks
from probe.errors import InputError
from probe.model import Model
from probe.record.state_files import NEVER, fit_state, load_state
from tests.probe.record.tiny import network, same_state

package = pytest.importorskip


def prefixed(prefix, model):
    return {f"{prefix}.{name}": value for name, value in model.state_dict().items()}


def with_more(model):
    more = {
        "best": torch.ones(()),
        "accuracy": np.float64(0.5),
        "args": Namespace(seed=1),
    }
    optimizer = torch.optim.Adam(model.parameters()).state_dict()
    return {
        "model": {"model_state_dict": model.state_dict()},
        "optimizer": optimizer,
        **more,
    }


def lightning(model, path):
    module = package("lightning").LightningModule()
    module.net, module.criterion = model, nn.CrossEntropyLoss(weight=torch.ones(6))
    trainer = package("lightning").Trainer(logger=False, accelerator="cpu")
    trainer.strategy.connect(module)
    trainer.save_checkpoint(path)


class Tied(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(8, 8), nn.Linear(8, 8))
        self[1].weight = self[0].weight


def bert():
    config = package("transformers").BertConfig(
        hidden_size=8,
        num_attention_heads=2,
        intermediate_size=8,
        vocab_size=30,
        num_hidden_layers=1,
    )
    return package("transformers").BertForSequenceClassification(config)


def distributed(path):
    model = network(2)
    dcp.load(model.state_dict(), checkpoint_id=path, no_dist=True)
    return model


def saved(wrapped):
    return lambda model, path: torch.save(wrapped(model), path)


def two(model):
    return {"state_dict": network(3).state_dict(), "state_dict_ema": model.state_dict()}


def two_in_one(model):
    return prefixed("old", network(3)) | prefixed("new", model)


def accelerator():
    return package("accelerate").Accelerator(cpu=True)


FORMS = {
    "torch, the state dict": saved(nn.Module.state_dict),
    "torch, a dict with more": saved(with_more),
    "torch, `DataParallel`": saved(lambda model: nn.DataParallel(model).state_dict()),
    "torch, any prefix": saved(partial(prefixed, "my.net")),
    "torch, `compile`": saved(
        lambda m: nn.Sequential(torch.compile(m[0]), *m[1:]).state_dict()
    ),
    "torch, `AveragedModel`": saved(lambda model: AveragedModel(model).state_dict()),
    "torch, two state dicts": saved(two),
    "torch, two networks in one": saved(two_in_one),
    "torch, the whole model": torch.save,
    "torch.distributed.checkpoint": lambda m, to: dcp.save(
        m.state_dict(), checkpoint_id=to
    ),
    "Lightning, a loss with weights": lightning,
    "safetensors, tied weights": lambda m, to: package("safetensors.torch").save_model(
        m, to
    ),
    "accelerate, `save_state`": lambda m, to: [
        a := accelerator(),
        a.prepare(m),
        a.save_state(to),
    ],
    "accelerate, `save_model` in shards": lambda m, to: accelerator().save_model(
        m, to, "1KB"
    ),
    "transformers, `save_pretrained`": lambda m, to: m.save_pretrained(to),
    "transformers, `from_pretrained`": lambda m, to: m.save_pretrained(to),
}
GIVEN = {
    "torch, two state dicts": {"weights": "state_dict_ema"},
    "torch, two networks in one": {"weights": "new"},
    "torch, the whole model": {"load": partial(torch.load, weights_only=False)},
    "torch.distributed.checkpoint": {"load": distributed},
    "transformers, `from_pretrained`": {
        "load": lambda path: type(bert()).from_pretrained(path)
    },
}


def test_the_table_lists_these_forms():
    table = (Path(__file__).parents[3] / "docs/checkpoints.md").read_text()
    rows = re.findall(r"^\| ((?:torch|Light|safe|acc|trans)[^|]*?) +\|", table, re.M)
    assert rows == list(FORMS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_back_to_the_same_predictions(tmp_path, form):
    build = Tied if "tied" in form else bert if "transformers" in form else network
    saved = build().eval()
    for parameter in saved.parameters():
        nn.init.normal_(parameter)
    x = torch.arange(20).view(4, 5) if build is bert else torch.randn(4, 8)
    path = tmp_path / ("task1.safetensors" if build is Tied else "task1")
    FORMS[form](saved, path)
    model = Model(
        {1: path},
        **({"fresh": build} | GIVEN.get(form, {})),
    )
    networks = trained_networks(model, None, None, None, tasks=1, seeds=1)
    [(run, hashes)] = networks.weight_hashes().items()
    again, _ = networks.load(run, 1, hashes[1])
    outputs = [getattr(y, "logits", y) for y in (saved(x), again.eval()(x))]
    assert torch.equal(*outputs)


def test_what_could_be_either_of_two_networks_is_refused_with_both_names(tmp_path):
    averaged = {
        "model": network().state_dict(),
        "swa": AveragedModel(network()).state_dict(),
    }
    beside = network().state_dict() | {"ema": network(3).state_dict()}
    unlike = {
        "model": network().state_dict(),
        "state_dict": nn.Linear(3, 3).state_dict(),
    }
    for both, names in (
        (unlike, "model, state_dict"),
        (two(network()), "state_dict, state_dict_ema"),
        (averaged, "model, swa"),
    ):
        torch.save(both, tmp_path / "a.pt")
        with pytest.raises(InputError, match=rf"{names}: .*--weights"):
            load_state(tmp_path / "a.pt")
    torch.save(beside, tmp_path / "a.pt")
    with pytest.raises(InputError, match="several sets of weights"):
        load_state(tmp_path / "a.pt")
    with pytest.raises(InputError, match=r"old, new: .*--weights"):
        fit_state(network(), two_in_one(network()), "a.pt")
    both = nn.ModuleDict({"old": network(3), "new": network(5)})
    torch.save(prefixed("module", both), tmp_path / "a.pt")
    assert same_state(load_state(tmp_path / "a.pt", "new"), network(5).state_dict())


def test_a_head_that_had_fewer_outputs_never_predicts_the_others():
    head, x, model = nn.Linear(16, 4), torch.randn(9, 8), network().eval()
    state = network(1).state_dict() | prefixed("4", head)
    notes, outputs = fit_state(model, state | {"loss.weight": torch.ones(6)}, "a.pt")
    assert outputs == 4
    assert all(
        name in note
        for name, note in zip(("4.bias", "loss.weight"), notes, strict=True)
    )
    assert torch.allclose(model(x)[:, :4], head(model[:4](x)))
    assert (model(x)[:, 4:] == NEVER).all()
    with pytest.raises(InputError, match=r"size mismatch for 4\."):
        fit_state(network(), state | {"4.bias": torch.zeros(6)}, "a.pt")

"""Torchvision's weights where torch keeps them: nothing there is run, nothing written over."""

import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from torchvision import models

from probe.errors import InputError
from scenarios.data.image_features import load_network
from tests.bad_input.making import SPRUNG, TRAP


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Return the file in which torch keeps one network's weights, in a folder of our own."""
    monkeypatch.chdir(tmp_path)
    before = torch.hub.get_dir()
    torch.hub.set_dir(str(tmp_path))
    url = models.ShuffleNet_V2_X0_5_Weights.DEFAULT.url
    (tmp_path / "checkpoints").mkdir()
    yield tmp_path / "checkpoints" / url.rpartition("/")[2]
    torch.hub.set_dir(before)


def test_torchvisions_own_weights_are_not_run(hub):
    """What lies in torch's folder of weights torchvision unpickles unless it is told not to."""
    hub.write_bytes(TRAP)
    with pytest.raises(InputError, match=r"holds no weights \(UnpicklingError\).*: remove it"):
        load_network("shufflenet_v2_x0_5", "default")
    assert not Path(SPRUNG).exists()
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ
    with pytest.raises((AttributeError, RuntimeError, TypeError, pickle.UnpicklingError)):
        models.get_model("shufflenet_v2_x0_5", weights="DEFAULT")
    assert Path(SPRUNG).exists()


def archive(path, *names):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, TRAP)


@pytest.mark.parametrize("name", ["other.pth", "resnet50-precious.pth", "itself", "../up.txt"])
def test_an_archive_in_the_place_of_weights_is_not_unpacked(hub, name):
    """torch would, over whatever lies beside it."""
    archive(hub, hub.name if name == "itself" else name)
    precious = hub.with_name("resnet50-precious.pth")
    precious.write_text("precious")
    before = {path: path.stat().st_mtime_ns for path in hub.parents[1].rglob("*")}
    with pytest.raises(InputError, match=r"is an archive of a single file.*not unpacked: remove"):
        load_network("shufflenet_v2_x0_5", "default")
    assert {path: path.stat().st_mtime_ns for path in hub.parents[1].rglob("*")} == before
    assert precious.read_text() == "precious"
    assert not Path(SPRUNG).exists()

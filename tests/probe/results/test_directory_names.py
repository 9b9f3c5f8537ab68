"""Run directories of networks whose modules have names that are no names of files."""

from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn

import probe


def test_a_slash_in_the_name_of_a_module_is_no_folder(tmp_path: Path) -> None:
    layers = OrderedDict({"a/b": nn.Linear(4, 8), "out": nn.Linear(8, 2)})
    data = torch.randn(8, 4), torch.arange(8) % 2
    given = ({2: nn.Sequential(layers)}, data, data, [[0], [1]], ["a/b"])
    written = probe.analyze(*given, readouts=["ncm"], out=tmp_path / "run")
    assert written.features == ("a/b", "output")
    assert written.measurements().equals(probe.analyze(*given, readouts=["ncm"]).measurements())

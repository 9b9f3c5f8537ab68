"""Whose results are: with another torch, kind of device or format of files they are another's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from scenarios.study.identity import read_identity

from probe.errors import InputError
from scenarios.study.store import FORMAT
from tests.scenarios.study.toy_identity import identities, identity

SOFTWARE = {"torch": "torch.__version__", "format": "scenarios.study.identity.FORMAT"}


@pytest.fixture(params=SOFTWARE)
def upgraded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Return what the same does under another version of one thing."""

    def call(action: Callable) -> object:
        with monkeypatch.context() as patch:
            patch.setattr(SOFTWARE[request.param], FORMAT + 1)
            return action()

    return call


def test_another_version_gives_every_job_another_identity(upgraded: Callable) -> None:
    before, after = identities(), upgraded(identities)
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())
    assert identities() == before
    assert upgraded(identities) == after


def test_a_directory_of_another_version_is_refused(upgraded: Callable, tmp_path: Path) -> None:
    identity().claim(tmp_path)
    before = (tmp_path / "study.json").read_bytes()
    version = rf'torch is "{torch.__version__}" there and "{FORMAT + 1}" here'
    with pytest.raises(InputError) as error:
        upgraded(lambda: identity().claim(tmp_path))
    said = (version, f"has format {FORMAT}, this version reads {FORMAT + 1}")
    assert sum(each in str(error.value) for each in said) == 1
    assert "choose another --out" in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]
    identity().claim(tmp_path)
    assert (tmp_path / "study.json").read_bytes() == before


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_directory_says_what_it_was_made_with(tmp_path: Path, device: str) -> None:
    identity(device=torch.device(device)).claim(tmp_path)
    record = json.loads((tmp_path / "study.json").read_bytes())
    assert record["torch"] == read_identity(tmp_path).torch == torch.__version__
    assert record["device"] == read_identity(tmp_path).device == device
    assert record["format"] == FORMAT

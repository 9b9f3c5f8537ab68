"""Where `Examples.of` keeps what it reads: within the budget, or in files, with the same values."""

import tempfile
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import probe.batch
import probe.reading.read
from probe.batch import gather
from probe.examples import Examples
from probe.memory import show_size
from probe.seeding import stream
from tests.probe.resident import resident

N = 600
X = {
    "image": torch.randn(N, 2, 3, generator=stream(0, "x")),
    "byte": torch.randint(
        256,
        (N, 5),
        generator=stream(0, "b"),
        dtype=torch.uint8,
    ),
    "one": torch.randint(9, (N,), generator=stream(0, "o")),
}
Y = torch.randint(4, (N,), generator=stream(0, "y"))
EACH = 6 * 4 + 5 + 8 + 8  # bytes of an example


def item(at):
    return {name: tensor[at] for name, tensor in X.items()}, int(Y[at])


class Known(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, at):
        return item(at)


SOURCES = {
    "known": Known,
    "in batches": lambda: DataLoader(Known(), batch_size=7),
    "unknown": lambda: map(item, range(N)),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize(
    "budget",
    [
        0,
        300 * EACH,
        N * EACH - 1,
    ],
)
def test_what_does_not_fit_goes_to_files_with_the_same_values(
    source,
    budget,
    tmp_path,
    monkeypatch,
):
    monkeypatch.setattr(
        probe.batch, "_PIECE", 64
    )  # so that rows are taken along in many pieces
    got = Examples.of(source(), budget=budget, scratch=tmp_path / "made")
    for name, tensor in X.items():
        assert torch.equal(got.x[name], tensor)
        assert got.x[name].dtype == tensor.dtype
    assert torch.equal(got.y, Y)
    # The file has no name: it is gone with the tensors.
    assert list((tmp_path / "made").iterdir()) == []


def test_without_a_folder_the_file_is_in_the_temporary_one_and_a_line_says_so(
    tmp_path,
    monkeypatch,
    capsys,
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "made"))
    monkeypatch.setattr(probe.reading.read, "free_memory", lambda device: 0)
    assert torch.equal(Examples.of(Known()).y, Y)
    size = show_size(N * EACH)
    assert (
        f"{size} of data are in a file in {tmp_path / 'made'} until"
        in capsys.readouterr().err
    )


class Large(Dataset):
    """Examples of 64 KB that are made when they are asked for; notes what the process holds."""

    def __init__(self, n):
        self.n, self.held = n, 0

    def __len__(self):
        return self.n

    def __getitem__(self, at):
        if at % 64 == 0:
            self.held = max(self.held, resident("RssAnon") + resident("RssFile"))
        return torch.full((2**14,), float(at)), at % 3


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says what is resident"
)
@pytest.mark.parametrize("length", ["known", "unknown"])
def test_what_goes_to_files_is_never_in_memory(
    length,
    tmp_path,
    monkeypatch,
):
    n, size = 2000, 2000 * 2**16
    monkeypatch.setattr(probe.batch, "_PIECE", 2**22)
    Examples.of(
        Large(10), budget=0, scratch=tmp_path
    )  # what is loaded once is no growth
    before = resident("RssAnon") + resident("RssFile")

    large = Large(n)
    data = large if length == "known" else map(large.__getitem__, range(n))
    got = Examples.of(data, budget=0, scratch=tmp_path)
    assert large.held - before < size / 2
    assert resident("RssAnon") + resident("RssFile") - before < size / 2
    rows = gather(got.x, torch.tensor([1999, 7]))
    assert torch.equal(rows[:, 5], torch.tensor([1999.0, 7.0]))

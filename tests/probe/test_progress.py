"""The bar in a notebook, where standard error is no terminal."""

import pytest

from probe.progress import tracked

CELL = """
import torch
from probe import Examples
from probe.progress import tracked
data = [(torch.zeros(3), n % 2) for n in range(7)]
print(sum(tracked(range(5), "numbers")), len(Examples.of(data)))
print(len(Examples.of(data, progress=False)))
"""


def test_it_yields_the_items_and_prints_nothing_where_nobody_looks(capfd):
    assert list(tracked(iter("abc"), "letters")) == ["a", "b", "c"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_bar_below_the_cell_of_a_notebook():
    """One output for each bar, at its end the whole; none where it is not wanted."""
    pytest.importorskip("ipykernel", reason="a notebook needs ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="a notebook is run by nbclient")
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell(CELL)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert (
        "".join(out.text for out in outputs if out.output_type == "stream")
        == "10 7\n7\n"
    )
    bars = [
        out.data["text/plain"] for out in outputs if out.output_type == "display_data"
    ]
    assert [bar.split()[0] for bar in bars] == ["numbers", "reading"]
    assert all("100%" in bar and "\x1b" not in bar and "\n" not in bar for bar in bars)

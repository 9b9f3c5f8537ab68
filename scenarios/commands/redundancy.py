"""`probe redundancy`: the redundancy of the features of data sets, in numbers and as a figure.

Kemker et al. 2018 ask whether methods succeed on a data set because its features are
redundant, and count the non-redundant ones by FCBF (Yu and Liu 2003).
`probe.redundancy` has the algorithm, `figures.redundancy` the figure.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from figures import style
from figures.redundancy import draw
from probe.errors import InputError
from probe.files import make_folder
from probe.redundancy.bins import equal_width, minimum_description
from probe.redundancy.fcbf import non_redundant, relevance, symmetric_uncertainty
from probe.redundancy.table import Redundancy, write_redundancy
from probe.tables.sheets import Sheet
from scenarios.commands.screen.sheets import show_sheet
from scenarios.data.datasets import Dataset, Location, load


def show_redundancy(
    names: Sequence[str],
    folder: Path | None,
    bins: int | None,
    out: Path,
    download: bool,
) -> None:
    """Print the number of non-redundant features of each data set; write tables and a figure.

    It writes redundancy.png, redundancy.svg and a DATA.csv for each data set.

    Args:
        names: The names of data sets, or the paths of feature files.
        folder: The data folder, None = the one in the variable PROBE_DATA.
        bins: The number of equal bins, None = minimum description length.
        out: The folder to write to.
        download: Whether missing data are downloaded.

    Raises:
        InputError: Data cannot be loaded, files cannot be written, or data sets have
            the same name.
    """
    location = Location.of(folder, download)
    loaded = [load(name, location) for name in names]
    data_sets = {data.name: data for data in loaded}
    # One table would replace the other.
    if len(data_sets) < len(names):
        raise InputError(
            f"two of {', '.join(names)} share a name: list each once or rename a file"
        )
    results = [measure(data, bins) for data in data_sets.values()]
    make_folder(out)
    tables = [write_redundancy(out, result) for result in results]
    pictures = style.save(draw(results), out, "redundancy")
    show_sheet(_sheet(results))
    for path in [*tables, *pictures]:
        print(path)


def _sheet(results: Sequence[Redundancy]) -> Sheet:
    """Return the numbers of features of each data set: all, relevant and non-redundant."""
    lines = []
    for result in results:
        features = len(result.bins)
        relevant = int((result.with_class > 0).sum())
        selected = len(result.selected)
        share = f"{100 * selected / features:.1f}"
        numbers = (f"{features:,}", f"{relevant:,}", f"{selected:,}")
        lines.append((result.data, *numbers, share))
    columns = ("data set", "all", "relevant", "non-redundant", "% of all")
    title = f"features, {results[0].discretization}"
    return Sheet(title=title, columns=columns, lines=lines)


def measure(data: Dataset, bins: int | None = None) -> Redundancy:
    """Return the redundancy of the features of a data set, on its training data.

    Source: Kemker 2018, table S9, which states neither the discretization nor the data.

    Args:
        data: The data set; every element of an input is a feature: N inputs of any
            shape become (N, D).
        bins: The number of equal bins of each feature. None = `minimum_description`,
            which has no setting and gives the paper's 39 features of MNIST's 60,000
            training examples (37 to 42 on parts of them).

    Returns:
        The redundancy.
    """
    x = data.train.x.flatten(1).numpy()
    labels = data.train.y.numpy()
    codes = minimum_description(x, labels) if bins is None else equal_width(x, bins)
    return Redundancy(
        data=data.name,
        discretization="MDL cuts" if bins is None else f"{bins} bins of equal width",
        bins=codes.max(0).astype(np.int64) + 1,
        with_class=relevance(codes, labels),
        between=symmetric_uncertainty(codes),
        selected=non_redundant(codes, labels),
    )

"""The commands of `probe` with their flags; each is carried out by a separate module.

The signature of a function is its command line, and its docstring is its `--help`.
Heavy modules are imported inside the commands, so that `probe --help` answers at once.
"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from probe.version import installed_version
from scenarios import options as flags
from scenarios.commands.parsing import with_options

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")]


def _show_version(requested: bool) -> None:
    """Print the version and exit, if requested."""
    if requested:
        print(f"forgetting-probe {installed_version()}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_show_version, is_eager=True, help="The version."
)


@app.callback()
def probe(show_version: Annotated[bool, _VERSION] = False) -> None:
    """Measure which layer of a continually trained network forgot which task."""


@app.command()
@with_options("PRESET|FILE.toml", "A preset of `probe list` or a file.")
def run(study: str, options: flags.RunOptions) -> int:
    """Run or resume a study: train, retrain downstream of each layer, write tables and figures.

    The exit code is 1 if any job failed.
    """
    from scenarios.execution.server import start_early

    start_early(options)
    from scenarios.commands.run import run_study

    return int(not run_study(study, options, shlex.join(["probe", *sys.argv[1:]])))


@app.command()
@with_options("FILE.toml", "The file to write.")
def init(file: Path = Path("study.toml"), *, options: flags.InitOptions) -> None:
    """Write a first study file that explains every key and runs unchanged.

    Existing files are never overwritten.
    """
    from scenarios.commands.init import show_written

    show_written(file, options)


@app.command()
@with_options(
    "MODULE:FACTORY|DIR", "A function that builds the network, or a recorder's folder."
)
def model(factory: str, options: flags.ModelOptions) -> int:
    """Measure how much each layer of your own network retains, from its checkpoints.

    The run directory has the same tables and figures as a study's. The exit code is 1
    if any job failed.
    """
    from scenarios.commands.model import probe_model

    return int(not probe_model(factory, options))


@app.command()
@with_options("BEFORE AFTER", "The file of the network before.", "And that after.")
def diff(before: Path, after: Path, options: flags.DiffOptions) -> int:
    """Find the layer whose change made a network worse, and what would bring it back.

    It needs only two checkpoints, and test examples of what the network could do. The
    exit code is 1 if more was lost than --tolerate allows, at the lower end of the 95 %
    interval.
    """
    from scenarios.commands.diff import show_diff

    return int(not show_diff(before, after, options))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the study.")] = Path(
        "runs/digits"
    ),
) -> int:
    """Show what the tool says: of two networks in seconds, of a small study in a minute.

    Networks are trained on scikit-learn's handwritten digits, on the CPU.
    """
    from scenarios.commands.demo import show_demo

    return int(not show_demo(out))


@app.command()
def status(directory: Directory, as_json: AsJson = False) -> None:
    """Show the finished, running, failed and remaining jobs of a study, and the time left.

    The time is an estimate from the finished jobs. Nothing is written.
    """
    from scenarios.commands.status import show_status

    show_status(directory, as_json)


@app.command()
@with_options("DIR", "A run directory.")
def figures(directory: Path, options: flags.FigureOptions) -> None:
    """Draw the figures of a study from its tables only.

    With any flag, draw only the requested figures, for a paper: each with its caption,
    in a separate folder.
    """
    from scenarios.commands.figures import draw_figures, draw_requested

    if options == flags.FigureOptions():
        return draw_figures(directory)
    return draw_requested(directory, options)


@app.command()
def report(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Run directories, or saved results."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="FILE.html, .md or .json; DIR/report.html by default."),
    ] = None,
    learners: Annotated[
        str | None, typer.Option(help="Methods, as er,si; 12 by default.")
    ] = None,
) -> None:
    """Write one HTML page that says which layer forgot what, with figures and tables.

    Several directories are shown side by side, with the differences of each from the
    first.
    """
    from scenarios.commands.report import show_report

    show_report(directories, out, learners)


_MOST = typer.Option(
    min=0, max=1, help="Accuracy that a layer of the second run may forget."
)


@app.command()
def compare(
    first: Directory,
    second: Directory,
    max_forgetting: Annotated[float | None, _MOST] = None,
) -> int:
    """Show how much more or less each layer forgets in a second run than in the first.

    A run may also be reference:mnist or reference:digits, the tables behind
    docs/found.md. The exit code is 1 if a layer of the second run forgets more than
    --max-forgetting.
    """
    from scenarios.commands.report import show_compared

    return int(not show_compared(first, second, max_forgetting))


@app.command()
def explain(
    directory: Directory,
    learner: Annotated[str, typer.Option(help="A method of the study.")],
    readout: Annotated[str, typer.Option(help="A readout downstream of the feature.")],
    feature: Annotated[str, typer.Option(help="The layer.")],
    quantity: Annotated[
        str,
        typer.Option(
            help="A quantity of layers.csv, except own, inherited and chance."
        ),
    ] = "forgotten",
) -> None:
    """Show the accuracies behind a number in layers.csv, and the files they come from.

    Each accuracy is shown by seed, order and task position, with the formula and the
    notes.
    """
    from scenarios.commands.report import show_explanation

    show_explanation(directory, learner, readout, feature, quantity)


@app.command()
@with_options("FILE", "R as .csv or .npy, or a log file.")
def metrics(file: Path, options: flags.MetricsOptions) -> None:
    """Compute every metric of the literature from an accuracy matrix.

    Each row of FILE holds the accuracy on all T tasks, after one more task than the row
    above. A first row of accuracies before any training is optional. Leave unmeasured
    cells empty or nan.
    """
    from scenarios.commands.metrics import score_file

    score_file(file, options)


@app.command()
@with_options(
    "MODULE:FACTORY|NETWORK", "A model or its factory, or a network of `probe list`."
)
def layers(model: str, options: flags.LayersOptions) -> None:
    """List the modules at which a model can be cut, and suggest a good set of them.

    The model is called on random inputs: normal values, or zeros and ones for integers.
    The columns frozen and left count the parameters upstream and downstream of the cut.
    """
    from scenarios.commands.layers import show_layers

    show_layers(model, options)


_FOLDER = typer.Argument(
    metavar="FOLDER", help="Images as train/CLASS/* and test/CLASS/*."
)
_WEIGHTS = typer.Option(
    metavar="FILE|default|random", help="A state dict, torchvision's, or untrained."
)


@app.command()
def features(
    folder: Annotated[Path, _FOLDER],
    network: Annotated[
        str, typer.Option(help="A classification network of torchvision.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE.npz", help="The feature file to write.")
    ],
    weights: Annotated[str, _WEIGHTS] = "default",
    device: Device = "auto",
) -> None:
    """Write a feature file from images, using the last hidden layer of a pretrained network.

    A study takes the file instead of a data set. torchvision downloads its weights if
    needed.
    """
    from probe.devices import device_named
    from scenarios.data.image_features import write_features_of_images

    write_features_of_images(folder, network, weights, out, device_named(device))


prepare = typer.Typer(
    no_args_is_help=True, help="Write a feature file from a published data set."
)
app.add_typer(prepare, name="prepare")

_OUT = typer.Option(metavar="FILE.npz", help="The feature file to write.")
_FEATURES = typer.Option(
    metavar="FILE.npy",
    help="Features (N, D) in the order of images.txt, instead of ResNet-50's.",
)


@prepare.command()
def cub200(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder CUB_200_2011.")
    ],
    out: Annotated[Path, _OUT],
    weights: Annotated[str, _WEIGHTS] = "default",
    features: Annotated[Path | None, _FEATURES] = None,
    device: Device = "auto",
) -> None:
    """Prepare CUB-200-2011 with its official split, by torchvision's ResNet-50."""
    from probe.devices import device_named
    from scenarios.data.cub200 import prepare_cub200

    prepare_cub200(folder, out, weights, features, device_named(device))


@prepare.command()
def audioset(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of the embeddings.")
    ],
    classes: Annotated[
        Path, typer.Option(metavar="FILE", help="A class on each line.")
    ],
    out: Annotated[Path, _OUT],
) -> None:
    """Prepare AudioSet's embeddings of the samples with exactly one of some classes."""
    from scenarios.data.audioset import prepare_audioset

    prepare_audioset(folder, classes, out)


_DATA_SETS = typer.Argument(
    metavar="DATASET|FILE.npz...", help="Data sets or feature files."
)
_BINS = typer.Option(help="Number of bins of equal width, 2 to 256; MDL by default.")


@app.command()
def redundancy(
    data_sets: Annotated[list[str], _DATA_SETS],
    data: Annotated[
        Path | None, typer.Option(help="Data folder; PROBE_DATA by default.")
    ] = None,
    bins: Annotated[int | None, _BINS] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(
        "runs/redundancy"
    ),
    download: Annotated[
        bool, typer.Option("--download", help="Download missing data.")
    ] = False,
) -> None:
    """Count the non-redundant features of data sets by FCBF, and plot their dependence.

    Continuous features of the training data are discretized by minimum description
    length (MDL), or into bins.
    """
    from scenarios.commands.redundancy import show_redundancy

    show_redundancy(data_sets, data, bins, out, download)


@app.command("list")
def list_names(as_json: AsJson = False) -> None:
    """List presets, data sets, networks with their layers, methods and metrics."""
    from scenarios.commands.listing import show_names

    show_names(as_json)

"""The commands of `probe` with their flags; each one's work is in its own module.

The signature of a function here is what the command takes, and its docstring is what `--help`
shows: both are written for the user of the command line. Everything heavy is imported inside the
commands, so that `probe --help` answers at once.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from scenarios.commands.parsing import with_options
from scenarios.model_options import ModelOptions
from scenarios.options import FigureOptions, RunOptions

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")]


def _show_version(asked: bool) -> None:
    """Print the version and end, if that is asked."""
    if asked:
        print(f"forgetting-probe {version('forgetting-probe')}")
        raise typer.Exit


@app.callback()
def probe(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Which layer of a continually trained network forgot what, toward which task."""


@app.command()
@with_options(RunOptions)
def run(
    study: Annotated[str, typer.Argument(metavar="PRESET|FILE.toml")], options: RunOptions
) -> None:
    """Run a study, or go on with it: train, retrain behind every feature, write tables, draw.

    Exit code 1 if a job failed while the others were finished.
    """
    from scenarios.commands.run import run_study

    if not run_study(study, options):
        raise typer.Exit(1)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The file to write.")] = Path(
        "study.toml"
    ),
    data: Annotated[
        str | None, typer.Option(metavar="DATASET|FILE.npz", help="Bundled digits by default.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Of `probe list`; one that suits the data by default.")
    ] = None,
    learners: Annotated[
        str | None, typer.Option(help="As a,b; finetune,er,offline by default.")
    ] = None,
    own: Annotated[
        bool, typer.Option("--own", help="And mynets.py, for a network and data of your own.")
    ] = False,
) -> None:
    """Write a study's file to begin with: every key is explained, and it runs as it is.

    No file is written over.
    """
    from scenarios.commands.init import show_written

    show_written(file, data, network, learners, own)


@app.command()
@with_options(ModelOptions)
def model(
    factory: Annotated[str, typer.Argument(metavar="MODULE:FACTORY|DIR")], options: ModelOptions
) -> None:
    """Measure what each layer of your own network kept, from its checkpoints.

    FACTORY makes the network when called without arguments; DIR is the folder of a probe.Recorder.
    The run directory, its tables and figures are those of a study. Exit code 1 if a job failed.
    """
    from scenarios.commands.model import probe_model

    if not probe_model(factory, options):
        raise typer.Exit(1)


@app.command()
def status(directory: Directory, as_json: AsJson = False) -> None:
    """Show what of a study is finished, running, failed or left, learner by learner.

    And about how long the rest takes, judged by what is finished. Nothing is written.
    """
    from scenarios.commands.status import show_status

    show_status(directory, as_json)


@app.command()
@with_options(FigureOptions)
def figures(directory: Directory, options: FigureOptions) -> None:
    """Draw every figure of a study from its tables alone; with any flag, those asked for.

    These are for a paper: each with its caption, in a folder of their own.
    """
    from scenarios.commands.figures import draw_asked, draw_figures

    if options == FigureOptions():
        draw_figures(directory)
    else:
        draw_asked(directory, options)


@app.command()
def metrics(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="R as .csv or .npy, or a log.")],
    as_json: AsJson = False,
    test_sizes: Annotated[
        str | None, typer.Option(help="Test examples per task, as 10,20,...; equal by default.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="The cumulative learner's R, for intransigence.")
    ] = None,
    ideal: Annotated[
        float | None, typer.Option(help="Offline accuracy on the first task, for Omega.")
    ] = None,
    percent: Annotated[bool, typer.Option("--percent", help="Input is in percent.")] = False,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FRAMEWORK",
            help="Whose log FILE is: mammoth (logs.pyd), facil (acc_tag-*.txt), pycil, pilot "
            "(.log), of one run.",
        ),
    ] = None,
) -> None:
    """Compute every metric of the literature from an accuracy matrix.

    FILE is T x T, or (T+1) x T with the accuracy before any training as its first row; row =
    tasks learned so far, column = task; an empty cell or nan = not measured.
    """
    from scenarios.commands.metrics import score_file

    score_file(file, as_json, test_sizes, reference, ideal, percent, source)


@app.command()
def layers(
    model: Annotated[str, typer.Argument(metavar="MODULE:FACTORY|NETWORK")],
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            metavar="[NAME=]SHAPE[:int]",
            help="Shape of one input, as 3x32x32; :int makes it whole numbers. Of several, each "
            "with its own --input, the model takes those with names by name, others in order.",
        ),
    ],
    output: Annotated[
        str | None, typer.Option(help="Where the logits are in what the model returns.")
    ] = None,
    integers: Annotated[
        bool, typer.Option("--integers", help="All inputs are whole numbers, as of words.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the modules of a model that can be features, with a suggestion of a good set.

    FACTORY, in a MODULE that can be imported from here, gives the model when called without
    arguments, or is it. The model sees random inputs: normal values, or the numbers 0 and 1 (a mask
    of them may leave nothing to see). Frozen and left are numbers of parameters.
    """
    from scenarios.commands.layers import show_layers

    show_layers(model, inputs, output, integers, as_json)


@app.command()
def features(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Holds train/CLASS/* and test/CLASS/*, images.")
    ],
    network: Annotated[str, typer.Option(help="A classification network of torchvision.")],
    out: Annotated[Path, typer.Option(metavar="FILE.npz", help="The feature file to write.")],
    weights: Annotated[
        str,
        typer.Option(
            metavar="FILE|default|random", help="A state dict, torchvision's own, or none trained."
        ),
    ] = "default",
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
) -> None:
    """Make a feature file of images: the last hidden layer of a pretrained network.

    A study takes the file in place of a data set. torchvision downloads its own weights unless it
    has them.
    """
    from scenarios.data.image_features import write_features_of_images
    from scenarios.device import device_named

    write_features_of_images(folder, network, weights, out, device_named(device))


@app.command()
def redundancy(
    data_sets: Annotated[list[str], typer.Argument(metavar="DATASET|FILE.npz...")],
    data: Annotated[Path | None, typer.Option(help="Data folder; or set PROBE_DATA.")] = None,
    bins: Annotated[
        int | None, typer.Option(help="Bins of equal width, 2 to 256; MDL cuts by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("runs/redundancy"),
    download: Annotated[bool, typer.Option("--download", help="Fetch missing data.")] = False,
) -> None:
    """Count the non-redundant features of data sets (FCBF), and draw how the features depend.

    Of the training data. A feature that is not discrete is cut where that tells the classes apart,
    as far as the principle of minimum description length (MDL) allows, or into bins.
    """
    from scenarios.commands.redundancy import show_redundancy
    from scenarios.data.datasets import Location

    show_redundancy(data_sets, Location.of(data, download), bins, out)


@app.command("list")
def list_known(as_json: AsJson = False) -> None:
    """List presets, data sets, networks with their features, learners and metrics."""
    from scenarios.commands.listing import show_known

    show_known(as_json)

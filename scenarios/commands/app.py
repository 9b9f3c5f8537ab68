"""The commands of `probe` with their flags; each is carried out by a separate module.

The signature of a function is its command line, and its docstring is its `--help`. Heavy modules
are imported inside the commands, so that `probe --help` answers at once.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from scenarios import options as flags
from scenarios.commands.parsing import with_options

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")]


def _show_version(asked: bool) -> None:
    """Print the version and exit, if asked."""
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
    """Measure which layer of a continually trained network forgot which task."""


@app.command()
@with_options
def run(
    study: Annotated[
        str, typer.Argument(metavar="PRESET|FILE.toml", help="A preset of `probe list` or a file.")
    ],
    options: flags.RunOptions,
) -> None:
    """Run or resume a study: train, retrain downstream of each layer, write tables and figures.

    The exit code is 1 if any job failed.
    """
    from scenarios.commands.run import run_study

    if not run_study(study, options):
        raise typer.Exit(1)


@app.command()
@with_options
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The file to write.")] = Path(
        "study.toml"
    ),
    *,
    options: flags.InitOptions,
) -> None:
    """Write a first study file that explains every key and runs unchanged.

    Existing files are never overwritten.
    """
    from scenarios.commands.init import show_written

    show_written(file, options)


@app.command()
@with_options
def model(
    factory: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FACTORY|DIR",
            help="A function that builds the network, or the folder of a probe.Recorder.",
        ),
    ],
    options: flags.ModelOptions,
) -> None:
    """Measure how much each layer of your own network retains, from its checkpoints.

    The run directory has the same tables and figures as a study's. The exit code is 1 if any
    job failed.
    """
    from scenarios.commands.model import probe_model

    if not probe_model(factory, options):
        raise typer.Exit(1)


@app.command()
def status(directory: Directory, as_json: AsJson = False) -> None:
    """Show the finished, running, failed and remaining jobs of a study, and the time left.

    The time is an estimate from the finished jobs. Nothing is written.
    """
    from scenarios.commands.status import show_status

    show_status(directory, as_json)


@app.command()
@with_options
def figures(directory: Directory, options: flags.FigureOptions) -> None:
    """Draw the figures of a study from its tables alone.

    With any flag, draw only the requested figures, for a paper: each with its caption, in a
    separate folder.
    """
    from scenarios.commands.figures import draw_asked, draw_figures

    if options == flags.FigureOptions():
        draw_figures(directory)
    else:
        draw_asked(directory, options)


@app.command()
def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories, or saved results.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write; report.html in the first DIR by default.")
    ] = None,
    learners: Annotated[
        str | None, typer.Option(help="Learners to show, such as er,si; the first 12 by default.")
    ] = None,
) -> None:
    """Write one HTML page that says which layer forgot what, with figures and tables.

    Several directories are shown side by side, with the differences of each from the first.
    """
    from scenarios.commands.report import show_report

    show_report(directories, out, learners)


@app.command()
def compare(
    first: Directory,
    second: Directory,
    max_forgetting: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Accuracy that a layer of the second run may forget."),
    ] = None,
) -> None:
    """Show how much more or less each layer of a second run forgets than in the first.

    The exit code is 1 if a layer of the second run forgets more than --max-forgetting.
    """
    from scenarios.commands.report import show_compared

    if not show_compared(first, second, max_forgetting):
        raise typer.Exit(1)


@app.command()
def explain(
    directory: Directory,
    learner: Annotated[str, typer.Option(help="A learner of the study.")],
    readout: Annotated[str, typer.Option(help="A readout downstream of the feature.")],
    feature: Annotated[str, typer.Option(help="The layer.")],
    quantity: Annotated[str, typer.Option(help="A quantity of layers.csv.")] = "forgotten",
) -> None:
    """Show the accuracies that a number of layers.csv is made of, and the files they come from.

    Each accuracy is shown by seed, order and task position, with the formula and the notes.
    """
    from scenarios.commands.explain import show_explanation

    show_explanation(directory, learner, readout, feature, quantity)


@app.command()
@with_options
def metrics(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="R as .csv or .npy, or a log file.")],
    options: flags.MetricsOptions,
) -> None:
    """Compute every metric of the literature from an accuracy matrix.

    Each row of FILE holds the accuracy on all T tasks after one more task has been learned. A first
    row with the accuracy before any training is optional. Leave unmeasured cells empty or nan.
    """
    from scenarios.commands.metrics import score_file

    score_file(file, options)


@app.command()
@with_options
def layers(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FACTORY|NETWORK",
            help="A model, a function that builds it, or a network of `probe list`.",
        ),
    ],
    options: flags.LayersOptions,
) -> None:
    """List the modules at which a model can be cut, and suggest a good set of them.

    The model is called on random inputs: normal values, or zeros and ones for integers. The columns
    frozen and left count parameters up to the cut and downstream of it.
    """
    from scenarios.commands.layers import show_layers

    show_layers(model, options)


@app.command()
@with_options
def features(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Images as train/CLASS/* and test/CLASS/*.")
    ],
    options: flags.FeaturesOptions,
) -> None:
    """Write a feature file from images, by the last hidden layer of a pretrained network.

    A study takes the file instead of a data set. torchvision downloads its weights if needed.
    """
    from scenarios.data.image_features import write_features_of_images
    from scenarios.execution.choosing import device_named

    device = device_named(options.device)
    write_features_of_images(folder, options.network, options.weights, options.out, device)


@app.command()
@with_options
def redundancy(
    data_sets: Annotated[
        list[str], typer.Argument(metavar="DATASET|FILE.npz...", help="Data sets or feature files.")
    ],
    options: flags.RedundancyOptions,
) -> None:
    """Count the non-redundant features of data sets by FCBF, and plot their dependence.

    Continuous features of the training data are discretized by minimum description length (MDL), or
    into bins.
    """
    from scenarios.commands.redundancy import show_redundancy

    show_redundancy(data_sets, options)


@app.command("list")
def list_known(as_json: AsJson = False) -> None:
    """List presets, data sets, networks with their features, learners and metrics."""
    from scenarios.commands.listing import show_known

    show_known(as_json)

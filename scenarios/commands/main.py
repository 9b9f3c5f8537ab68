"""The command line, `probe`: from its first moment to its exit code.

Nothing heavy is imported before signals are taken care of. Exit codes: 0; 1 if a job of a study
failed; 2 for a mistake of the user's, with one sentence on standard error and no traceback; 130 and
143 if Ctrl-C or SIGTERM has stopped it; 141 if nobody reads what is printed.
"""

from __future__ import annotations

import os
import sys

from probe.errors import InputError
from scenarios.commands.screen.stopping import HOW_TO_GO_ON, STOPPED, stoppable
from scenarios.commands.screen.terminal import READER_GONE, printable, printed, say


def main() -> None:
    """Run the command line; a user's mistake is one sentence and exit code 2.

    Always ends by SystemExit. An error that nobody foresaw keeps its traceback: it is a mistake of
    ours.
    """
    # Nothing is shown on a screen, whatever the surroundings ask matplotlib for.
    os.environ["MPLBACKEND"] = "agg"
    try:
        # Signals outermost: output that cannot be written must not keep the process from ending.
        with stoppable(), printed():
            code = _command()
        sys.exit(code)
    except InputError as error:
        _show_error(str(error))
        sys.exit(2)
    except BrokenPipeError:
        # Who has read enough, as `head` has, makes no mistake; but a study was stopped by it.
        if sys.argv[1:2] == ["run"] and "--help" not in sys.argv:
            say(HOW_TO_GO_ON)
        sys.exit(READER_GONE)
    except MemoryError:
        _show_error("there is not enough memory for that: is one of the files far too large?")
        sys.exit(2)
    except OSError as error:
        shown = f"cannot write what is shown ({error.strerror}): make room, or show it elsewhere"
        _show_error(f"{error}; check the path" if error.filename else shown)
        sys.exit(2)
    except SystemExit as stop:
        # Ctrl-C arrives here as the exit code that typer makes of it, without a word.
        if stop.code in STOPPED:
            say(HOW_TO_GO_ON)
        raise


def _command() -> int:
    """Run the command that was typed and return its exit code."""
    # Imported only now: Ctrl-C while typer is loaded must not end in a traceback.
    from scenarios.commands.app import app
    from scenarios.commands.parsing import call

    return call(app)


def _show_error(said: str) -> None:
    """Print an error as one line on standard error."""
    say(f"error: {printable(' '.join(said.split()))}")

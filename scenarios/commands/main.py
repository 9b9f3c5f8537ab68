"""The entry point of the command line, `probe`, with its signals and exit codes.

Nothing heavy is imported before signals are handled. Exit codes: 0; 1 if a job of a
study failed, or more was lost than was allowed; 2 for a user's mistake, with one
sentence on standard error and no traceback; 130 and 143 if Ctrl-C or SIGTERM stopped
it; 141 if the pipe that it prints to was closed.
"""

import os
import sys
from contextlib import nullcontext
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC
from typing import NoReturn

from probe.errors import InputError, no_exit, printable
from scenarios.commands.screen.signals import HOW_TO_GO_ON, STOPPED, stoppable
from scenarios.commands.screen.terminal import READER_GONE, printed, say

_OUTPUT_FAILS = {EBADF, EDQUOT, EFBIG, EIO, ENOSPC}


def main() -> None:
    """Run the command line; report a user's mistake in one sentence, with exit code 2.

    It always ends by SystemExit. An unforeseen error keeps its traceback: it is a bug
    of this package, or a broken installation.
    """
    # Figures are never shown on a screen, whatever backend the environment sets.
    os.environ["MPLBACKEND"] = "agg"
    try:
        # Signals outermost: output that cannot be written must not keep the process
        # from ending.
        with (
            stoppable(),
            printed(),
            # A shell that completes a word runs no user code, and exits.
            nullcontext() if "_PROBE_COMPLETE" in os.environ else no_exit(),
        ):
            code = _command()
        sys.exit(code)
    except InputError as error:
        _refuse(str(error))
    except BrokenPipeError:
        # A reader that has read enough, such as `head`, is no mistake; but it stopped a
        # study.
        if sys.argv[1:2] == ["run"] and "--help" not in sys.argv:
            say(HOW_TO_GO_ON)
        sys.exit(READER_GONE)
    except MemoryError:
        _refuse(
            "there is not enough memory for that: is one of the files far too large?"
        )
    except OSError as error:
        if error.filename:
            _refuse(f"{error}; check the path")
        # Among errors without a file, only these come from standard output.
        if error.errno not in _OUTPUT_FAILS:
            raise
        _refuse(
            f"cannot write the output ({error.strerror}): make room, or send it "
            "elsewhere"
        )
    except SystemExit as stop:
        # Ctrl-C arrives here as typer's exit code, without a message.
        if stop.code in STOPPED:
            say(HOW_TO_GO_ON)
        raise


def _command() -> int:
    """Run the command that was typed and return its exit code."""
    # Imported only now: Ctrl-C while typer is loaded must not end in a traceback.
    from scenarios.commands.app import app
    from scenarios.commands.parsing import call

    return call(app)


def _refuse(reason: str) -> NoReturn:
    """Print an error as one line on standard error, and exit."""
    say(f"error: {printable(' '.join(reason.split()))}")
    sys.exit(2)

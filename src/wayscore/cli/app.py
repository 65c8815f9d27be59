"""The start of the `wayscore` command: nothing is imported here that `wayscore --version` does not need."""

from __future__ import annotations

import os
import sys

import wayscore

TYPE_CHECKING = False  # as in `wayscore`
if TYPE_CHECKING:
    from typing import Any

    from wayscore.cli.group import app as app

DATA, CALL, FAULT, INTERRUPTED = 1, 2, 3, 130
"""Exit statuses: the data or the machine have problems, the call is wrong, wayscore has a bug, Ctrl-C."""
OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""A command keeps most of what it makes: looking for garbage every 700 objects takes a tenth of its time."""


def main() -> None:
    """Run the command line of this process and leave with its exit status, whatever happens.

    What goes wrong in a verb is explained by `group.py`. Here are the moments before and after: Ctrl-C while modules
    are loaded, and output that nobody takes.
    """
    status: Any = 0
    try:
        try:
            if sys.argv[1:] == ["--version"] and not os.environ.get("WAYSCORE_KERNELS"):
                print(version())
            else:
                import atexit
                import gc

                gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
                atexit.register(gc.freeze)  # what is left when the process ends need not be looked through
                from wayscore.cli.group import SECTIONS, app

                if sys.argv[1:] and sys.argv[1] in SECTIONS["Scores"]:  # which need no matrix products
                    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
                for stream in (sys.stdout, sys.stderr):
                    if hasattr(stream, "reconfigure"):
                        stream.reconfigure(errors="replace")  # a character that the terminal does not know is no error
                app(prog_name="wayscore")
        except SystemExit as leaving:
            status = leaving.code
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:  # who reads on has enough: `wayscore ... | head`
        _turn_away()
    except OSError as error:
        _turn_away()
        if not status:  # else a sentence says so already
            _complain(f"wayscore: standard output: cannot be written: {(error.strerror or str(error)).lower()}")
        status = status or DATA
    if status == INTERRUPTED:
        os._exit(INTERRUPTED)  # files were put away on the way here; another Ctrl-C has nothing to interrupt
    sys.exit(status)


def _turn_away() -> None:
    """Let nothing more be written to standard output, which Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(message: str) -> None:
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:  # nobody is left to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def version() -> str:
    """Return the versions of wayscore and Python, and which kernels run; NumPy is loaded only if these are chosen."""
    if os.environ.get("WAYSCORE_KERNELS"):
        from wayscore import kernels

        kind = kernels.name
    else:
        from importlib.machinery import PathFinder

        found = PathFinder.find_spec("wayscore.kernels._native", [os.path.join(wayscore.__path__[0], "kernels")])
        kind = "native" if found else "numpy"
    return f"wayscore {wayscore.__version__} (kernels: {kind}; Python {sys.version.split()[0]})"


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'wayscore.cli.app' has no attribute {name!r}")
    from wayscore.cli.group import app

    return app

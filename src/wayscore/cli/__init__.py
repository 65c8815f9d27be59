"""The `wayscore` command: each verb is a plain function. Here it starts, with nothing loaded yet."""

from __future__ import annotations

import os
import sys

import wayscore

DATA, CALL, FAULT, INTERRUPTED = 1, 2, 3, 130
"""Exit statuses: the data or the machine have problems, the call is wrong, wayscore has a bug, Ctrl-C."""
OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""A command keeps most of what it makes: looking for garbage every 700 objects takes a tenth of its time."""


def main() -> None:
    """Run the command line of this process and leave with its exit status, whatever happens.

    `app.py` handles what goes wrong in a verb; this function, what goes wrong before and after: Ctrl-C while modules
    are loaded, and output that cannot be written.
    """
    status: int | str | None = 0
    try:
        try:
            if sys.argv[1:] == ["--version"] and not os.environ.get("WAYSCORE_KERNELS"):
                print(version())
            else:
                import atexit
                import gc

                gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
                atexit.register(gc.freeze)  # or garbage would be collected once more at the end
                from wayscore.cli.app import SECTIONS, app

                if sys.argv[1:] and sys.argv[1] in SECTIONS["Scores"]:  # these verbs need no matrix products
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
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)  # or Python would try to write to it again when it ends
        if not isinstance(error, BrokenPipeError):  # a closed pipe is no error: `wayscore ... | head`
            if not status:  # otherwise an error has been printed already
                try:
                    reason = (error.strerror or str(error)).lower()
                    print(f"wayscore: standard output: cannot be written: {reason}", file=sys.stderr, flush=True)
                except OSError:  # standard error is closed too
                    os.dup2(nowhere, 2)
            status = status or DATA
    if status == INTERRUPTED:
        os._exit(INTERRUPTED)  # files were put away on the way here; another Ctrl-C has nothing to interrupt
    sys.exit(status)


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

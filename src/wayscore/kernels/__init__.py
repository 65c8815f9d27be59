"""The hot loops, twice: native C where it was built, NumPy (`plain`) everywhere; chosen here, at import.

`WAYSCORE_KERNELS=numpy` or `native` makes the choice; unset, native is taken when present. Results are the same
bits either way (exponentials: within 1e-15). Nothing outside this package imports `plain` or `_native`:
what has no native twin (`fast_warp`, `fill`, `advance_block`) is here as well. `navmesh_search` is native only.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy import asarray

from wayscore.errors import MissingPackageError, OptionError

name = os.environ.get("WAYSCORE_KERNELS", "")
"""Which kernels run: "native" or "numpy"."""
if name not in ("", "numpy", "native"):
    raise OptionError(f"WAYSCORE_KERNELS must be 'numpy' or 'native', got {name!r}; unset it for the default")
if name != "numpy":
    try:
        import_module("wayscore.kernels._native")
    except ImportError:
        if name == "native":
            raise OptionError(
                "WAYSCORE_KERNELS=native, but the native kernels were not built; reinstall wayscore with a C "
                "compiler on PATH, or unset the variable to use NumPy"
            ) from None
        name = "numpy"
    else:
        name = "native"


def navmesh_search(*_: Any) -> None:
    """Snap points to a navigation mesh and search between pairs of them (navmesh_search.c says more)."""
    raise MissingPackageError(
        "navigation meshes need the native kernels, which were not built or not chosen; reinstall wayscore with a C "
        "compiler on PATH, and unset WAYSCORE_KERNELS"
    )


lanes = "none"
"""The instruction set of native kernels."""
if name == "numpy" or TYPE_CHECKING:
    from wayscore.kernels.plain import *  # noqa: F403
else:
    from wayscore.kernels._native import *  # noqa: F403

    def __getattr__(missing: str) -> Any:  # what has no native twin
        if missing.startswith("__"):
            raise AttributeError(missing)
        return getattr(import_module("wayscore.kernels.plain"), missing)


view: Any = memoryview if name == "native" else asarray
"""How to hold an array that kernels are given again and again: native ones take a memoryview faster than an array."""

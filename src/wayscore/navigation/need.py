"""A check for packages that only the extra `navigation` installs."""

from __future__ import annotations

from wayscore.errors import MissingPackageError


def need_torch() -> None:
    """Raise an error that says how to install PyTorch, if it is missing."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            "training needs PyTorch, which is not installed: pip install 'wayscore[navigation]'"
        ) from None

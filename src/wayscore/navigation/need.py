"""What only the extra `navigation` installs."""

from __future__ import annotations

from wayscore.errors import MissingPackageError


def need_torch() -> None:
    """Say in a sentence that PyTorch is missing, where it is."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            "training needs PyTorch, which is not installed; install wayscore[navigation]"
        ) from None

"""A check for packages that only the extra `navigation` installs."""

from __future__ import annotations

from wayscore.errors import MissingPackageError, first_line


def need_torch() -> None:
    """Raise an error that says how to install PyTorch, if it is missing or cannot be imported."""
    try:
        import torch  # noqa: F401
    except (ImportError, OSError) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        why = "is not installed" if missing else f"cannot be imported ({first_line(error)})"
        raise MissingPackageError(f"training needs PyTorch, which {why}: pip install 'wayscore[navigation]'") from None

"""The distances that references are measured by: the graphs of their scenes, or none for coordinates."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from wayscore.convention.presets import find_convention
from wayscore.distances.graphs import load_graphs
from wayscore.episodes.references import References
from wayscore.errors import FormatError, OptionError


def distances_for(references: References, graphs: str | os.PathLike[str] | None, convention: Any = "paper") -> Any:
    """Return scene -> graph where paths are labels, None (Euclidean) where they are coordinates.

    Links of streets lead both ways, unless the convention counts directed ones.
    """
    first = next(iter(references.episodes.values()), None)
    if first is None or not isinstance(first.path, list):
        return None
    if graphs is None:
        raise OptionError(
            f"{references.name}: paths are node names, so distances need the graphs; give the connectivity files (a "
            "folder or a tar) with <<graphs=FOLDER>>"
        )
    if references.format == "street":
        from wayscore.formats.street import SCENE, find_street_graph

        return {SCENE: find_street_graph(graphs, directed=find_convention(convention).distance == "directed hops")}
    try:
        return load_graphs(Path(graphs))
    except FormatError as error:
        what = str(error.args[0]).partition("; expected")[0]
        raise FormatError(
            f"{what}; give the folder or tar of the dataset's connectivity files with <<graphs=FOLDER>>"
        ) from None

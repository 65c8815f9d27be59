"""Shows the doctests of docstrings as code: wayscore writes them without a heading, which the parser asks for."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts every doctest of a docstring under the heading `Examples:`."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = DOCTEST.sub(
                lambda match: "Examples:\n" + textwrap.indent(match[0], "    "), obj.docstring.value
            )

"""JSON Schemas of everything that wayscore writes for programs, generated from the types in these files.

`make schemas` writes them to docs/schema. The number at the end of a name counts changes that break readers. The schema
of recorder logs, episode-1.json, is written by hand: the recorder has no types to generate it from.
"""

from __future__ import annotations

import inspect
import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from docs.building.schemas import checks, files, runs

FOLDER = Path(__file__).parents[2] / "schema"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, tuple[type[Struct], str]] = {
    "score-1": (runs.Score, "The scores of one run"),
    "comparison-1": (runs.Comparison, "A comparison of runs"),
    "validation-1": (checks.Validation, "The problems of a run"),
    "conventions-1": (checks.ConventionObject, "A convention"),
    "scores-1": (files.EpisodeScores, "The scores of one episode"),
    "result-1": (files.SavedResult, "What a saved result says of itself"),
}
"""By name: the type, and the title of its schema."""


def schema_of(name: str) -> dict[str, Any]:
    """Return one of `SCHEMAS` as a JSON Schema."""
    kind, title = SCHEMAS[name]
    _, found = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    known = chain(*(vars(module).values() for module in (runs, checks, files)))
    types = {one.__name__: one for one in known if inspect.isclass(one)}
    for part, content in found.items():
        _describe(content, inspect.getdoc(types[part]) or "")
    whole = found.pop(kind.__name__)
    if kind is files.EpisodeScores:
        whole["additionalProperties"] = {"description": "A metric.", "type": ["number", "null"]}
    head = {"$schema": DRAFT, "$id": f"urn:wayscore:{name}", "title": title}
    rest = {key: value for key, value in whole.items() if key != "title"}
    return {**head, **rest, **({"$defs": found} if found else {})}


def _describe(content: dict[str, Any], text: str) -> None:
    """Give a type and its fields the words of the type's docstring."""
    about, _, attributes = text.partition("\n\nAttributes:\n")
    content["description"] = " ".join(about.split())
    for name, words in re.findall(r"^ {4}(\w+): (.+(?:\n {5,}.+)*)", attributes, re.MULTILINE):
        said = " ".join(words.split())
        field = {"description": said[0].upper() + said[1:]}
        content["properties"][name] = field | content["properties"][name]


def text_of(name: str) -> str:
    """Return a schema as its file has it."""
    return json.dumps(schema_of(name), indent=2) + "\n"

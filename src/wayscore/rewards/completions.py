"""From the text that a language model writes to a path: nodes, points, or actions that are walked by dead reckoning.

Reading is strict: either the whole answer is understood, or it is malformed, and a `PathError` says why.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from wayscore.distances.base import Floats
from wayscore.errors import OptionError, PathError, shortened

ACTIONS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("0", "stop"), "stop"),
        **dict.fromkeys(("1", "forward", "move_forward"), "forward"),
        **dict.fromkeys(("2", "left", "turn_left"), "left"),
        **dict.fromkeys(("3", "right", "turn_right"), "right"),
    }
)
"""How actions may be written, in small letters -> the action; the numbers are those of VLN-CE."""
AXES = ((1, 2, 1.0), (0, 2, -1.0), (0, 1, 1.0))
"""For each axis that may point up: the axis to the right of heading 0, the axis ahead of it, and the latter's sign."""
_BLOCK = re.compile(r"<answer>(.*)</answer>", re.DOTALL)


def answer_of(completion: Any) -> str:
    """Return the answer in a completion, which is text or a list of messages.

    Of several messages the last one counts. What stands before `</think>` is left out. One `<answer>` block is the
    answer; without any, the whole text is; several are malformed.

    >>> answer_of("I turn right first. <answer> hall, stairs </answer>")
    'hall, stairs'
    >>> answer_of([{"role": "assistant", "content": "<think>hall?</think> stairs"}])
    'stairs'
    """
    text = completion
    if isinstance(text, list) and text:
        text = text[-1].get("content") if isinstance(text[-1], Mapping) else None
        if isinstance(text, list):  # the parts of a message that may hold pictures too
            parts = [part.get("text", "") for part in text if isinstance(part, Mapping)]
            text = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(text, str):
        raise PathError(f"a completion must be text or a list of messages with text, got {shortened(completion)}")
    text = text.rpartition("</think>")[2]
    marks = text.count("<answer>") + text.count("</answer>")
    if marks:
        block = _BLOCK.search(text)
        if block is None or marks != 2:
            raise PathError(f"the completion must have one <answer>...</answer> block, got {shortened(text)}")
        text = block[1]
    answer: str = text.strip()
    if not answer:
        raise PathError("the completion has no answer")
    return answer


def items_of(text: str) -> list[Any]:
    """Return the items of a JSON list, or of text that is separated by "->", else by commas, else by whitespace.

    >>> items_of('["hall", "stairs"]'), items_of("living room, hall"), items_of("a -> b"), items_of("a b")
    (['hall', 'stairs'], ['living room', 'hall'], ['a', 'b'], ['a', 'b'])
    """
    if text.startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise PathError(f"the answer begins like a JSON list and is none: {shortened(text)}") from None
        if not found:
            raise PathError("the answer is an empty list")
        return list(found)
    separator = next((mark for mark in ("->", ",") if mark in text), None)
    items = [item.strip() for item in text.split(separator)]
    if not all(items):
        raise PathError(f"the answer has an empty item: {shortened(text)}")
    return items


def read_nodes(items: Sequence[Any], index: Mapping[Any, int] | None = None) -> list[Any]:
    """Return nodes: names, whole numbers, or lists of these for nodes that are tuples.

    Args:
        items: what was written.
        index: label -> code. A number in text is looked up as a number too, and the reverse.

    >>> read_nodes(["7", "b"], {7: 0, "b": 1}), read_nodes([[0, 1], [0, 2]])
    ([7, 'b'], [(0, 1), (0, 2)])
    """
    return [_label(item, index) for item in items]


def _label(item: Any, index: Mapping[Any, int] | None) -> Any:
    parts = item if isinstance(item, list | tuple) else [item]
    if not all(isinstance(part, str | int | np.integer) and not isinstance(part, bool) for part in parts):
        raise PathError(f"a node must be a name or a whole number, got {shortened(item)}")
    label = tuple(parts) if parts is item else item
    if index is None or label in index:
        return label
    if isinstance(label, str):
        other: Any = int(label) if re.fullmatch(r"-?[0-9]{1,18}", label) else label
    else:
        other = str(label)
    return other if other in index else label


def read_points(items: Sequence[Any]) -> Floats:
    """Return points, one list of coordinates each.

    >>> read_points([[0, 1], [0, 2.5]])
    array([[0. , 1. ], [0. , 2.5]])
    """
    for point in items:
        numbers = isinstance(point, list | tuple) and all(
            isinstance(number, int | float) and not isinstance(number, bool) for number in point
        )
        if not numbers or not point or len(point) != len(items[0]):
            raise PathError(f"points must be lists of coordinates, all of the same length, got {shortened(point)}")
    try:
        return np.array(items, dtype=np.float64)
    except OverflowError:
        raise PathError("a coordinate is too large") from None


def read_actions(items: Sequence[Any]) -> list[str]:
    """Return actions as "forward", "left", "right" and "stop", which may only be the last one.

    >>> read_actions(["move_forward", "LEFT", 1, "stop"])
    ['forward', 'left', 'forward', 'stop']
    """
    actions = []
    for item in items:
        action = ACTIONS.get(str(item).lower()) if isinstance(item, str | int) else None
        if action is None or isinstance(item, bool):
            raise PathError(f"actions must be forward, left, right or stop, got {shortened(item)}")
        actions.append(action)
    if "stop" in actions[:-1]:
        raise PathError(f"{len(actions) - actions.index('stop') - 1} actions follow a stop")
    return actions


def heading_of(rotation: Any, up_axis: int = 2) -> float:
    """Return a heading in radians, clockwise from ahead; a rotation x, y, z, w around the up axis becomes one.

    Ahead is +y where z points up and in the plane, -z where y points up (Habitat), +z where x does.

    >>> heading_of(0.5), round(heading_of([0, math.sqrt(0.5), 0, math.sqrt(0.5)], up_axis=1), 3)
    (0.5, -1.571)
    """
    try:
        numbers = np.array(rotation, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if len(numbers) not in (1, 4) or not np.isfinite(numbers).all() or (len(numbers) == 4 and not numbers.any()):
        raise OptionError(
            "a heading must be one number, radians clockwise, or a rotation x, y, z, w; got " + shortened(rotation)
        )
    return float(numbers[0]) if len(numbers) == 1 else -2 * math.atan2(numbers[up_axis], numbers[3])


def walk(
    actions: Sequence[str],
    start: Any,
    heading: float = 0.0,
    *,
    step: float = 0.25,
    turn: float = 15.0,
    up_axis: int = 2,
) -> Floats:
    """Return where actions lead if nothing is in the way: the start, and one point for each "forward".

    Args:
        actions: of `read_actions`.
        start: two or three coordinates.
        heading: radians, clockwise from ahead, see `heading_of`.
        step: the length of a step forward.
        turn: the angle of a turn, degrees.
        up_axis: which of three coordinates points up; it does not change.

    >>> walk(["forward", "right", "forward"], [0, 0], step=1.0, turn=90.0).round(3).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    try:
        here = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        here = np.empty(0)
    if here.shape not in ((2,), (3,)) or not np.isfinite(here).all():
        raise OptionError(f"a start must be two or three finite coordinates, got {shortened(start)}")
    right, ahead, sign = AXES[up_axis if len(here) == 3 else 2]
    points, turns = [here], 0
    for action in actions:
        if action == "forward":
            angle = heading + turns * math.radians(turn)
            here = here.copy()
            here[right] += step * math.sin(angle)
            here[ahead] += sign * step * math.cos(angle)
            points.append(here)
        elif action != "stop":
            turns += 1 if action == "right" else -1
    return np.array(points)

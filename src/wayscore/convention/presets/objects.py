"""Walks to an object: REVERIE and SOON."""

from __future__ import annotations

from wayscore.convention.evaluator import evaluator
from wayscore.convention.presets.graphs import ACTIONS, ANSWERED, RAISES, REFERENCE_LENGTH

DUET = {"trajectory_steps": "steps", "trajectory_lengths": "PL", "success": "SR", "oracle_success": "OSR", "spl": "SPL"}
OBJECTS = {
    "object": "the right object, from the references",
    "predicted_object": "the object that the agent named: `predObjId` or `pred_objid` in run files",
}

EVALUATORS = (
    evaluator(
        "reverie",
        "the official REVERIE evaluator: a success ends where the object can be seen",
        "YuankaiQi/REVERIE@0fe0955705, tasks/REVERIE/eval_release.py",
        {
            "length": "PL",
            "success_rate": "SR",
            "oracle success_rate": "OSR",
            "spl": "SPL",
            "rgs": "RGS",
            "rgspl": "RGSPL",
        },
        takes=OBJECTS,
        instead=f"{RAISES} A success of length 0 at a start which is the reference's end divides by zero there; its "
        "SPL is 1 here.",
        goal="set",
        unknown="skip",
        duplicate="keep",
    ),
    evaluator(
        "reverie-duet",
        "HAMT and DUET on REVERIE: SPL compares with the reference's length, missing answers are left out",
        "cshizhe/VLN-DUET@93e8b23316, map_nav_src/reverie/env.py",
        {**DUET, "rgs": "RGS", "rgspl": "RGSPL"},
        copies=("cshizhe/VLN-HAMT@c8b9ee1212, without objects",),
        measured={"action_steps": "actions"},
        takes={**OBJECTS, **ACTIONS},
        golden=("reverie-duet", "reverie-duet-hamt"),
        instead=RAISES,
        goal="set",
        **REFERENCE_LENGTH,
    ),
    evaluator(
        "reverie-scalevln",
        "ScaleVLN on REVERIE: as reverie-duet, but the object counts only where the walk also succeeds",
        "wz0919/ScaleVLN@3bdff0da22, VLN-DUET-RVR/map_nav_src/reverie/env.py",
        {**DUET, "rgs": "RGS:reverie-scalevln", "rgspl": "RGSPL:reverie-scalevln"},
        measured={"action_steps": "actions"},
        takes={**OBJECTS, **ACTIONS},
        instead=RAISES,
        goal="set",
        **REFERENCE_LENGTH,
    ),
    evaluator(
        "soon-duet",
        "DUET on SOON: a walk that ends where the object is seen has no error",
        "cshizhe/VLN-DUET@93e8b23316, map_nav_src/soon/env.py",
        {
            "steps": "steps",
            "lengths": "PL",
            "nav_error": "NE:soon-duet",
            "oracle_error": "ONE:soon-duet",
            "goal_progress": "GP:soon-duet",
            "sr": "SR:soon-duet",
            "oracle_sr": "OSR:soon-duet",
            "spl": "SPL:soon-duet",
            "det_sr": "detSR:soon-duet",
            "det_spl": "detSPL:soon-duet",
            "heading_error": "heading_error:soon-duet",
            "elevation_error": "elevation_error:soon-duet",
            "point_det_error": "point_error:soon-duet",
        },
        measured={"action_steps": "actions", "det_success": "detSR"},
        takes={
            "boxes": "by node from which the object is seen, its box in headings and elevations",
            "predicted_heading": "the direction in which the agent found the object, radians",
            "predicted_elevation": "the same, up or down",
            **ACTIONS,
        },
        instead=f"{RAISES} Its errors of direction exist only where the walk ends in a box; elsewhere they are "
        "undefined.",
        comparison="<",
        **ANSWERED,
    ),
)

"""Continuous walks through buildings: Habitat, VLN-CE and their descendants, InternNav, NavDP."""

from __future__ import annotations

from typing import Any

from wayscore.convention.evaluator import evaluator

HABITAT: dict[str, Any] = {"comparison": "<", "goal": "nearest", "goal_distance": "simulator", "stop": "required"}
VLNCE: dict[str, Any] = {**HABITAT, "reference": "dense", "repeats": "drop", "warping": "fast"}
ETPNAV: dict[str, Any] = {**VLNCE, "comparison": "<=", "stop": "any"}
CWP: dict[str, Any] = {**ETPNAV, "stop": "required", "repeats": "keep"}
LAB = "facebookresearch/habitat-lab@0fb6f43ffe, habitat-lab/habitat/tasks/nav/nav.py"
SIMULATOR = {
    "goal_distances": "how far the simulator found each position from the goal; straight lines stand in with a warning",
    "stopped": "whether the agent stopped by itself; counted as stopped where it is not known, with a warning",
}
AT_GOAL = "An episode whose start is its goal divides by zero there; here SPL is 1 if the agent stayed, else 0."
INSTEAD = (
    f"{AT_GOAL} Where the goal is unreachable SPL and SoftSPL are NaN there and 0 here, and an infinite error is "
    "undefined."
)
NAN = "Where start and walk have length 0, or the goal is unreachable, SPL is NaN there; here it is 1 or 0."
MEASURES = {
    "distance_to_goal": "NE",
    "success": "SR",
    "spl": "SPL",
    "path_length": "PL",
    "oracle_navigation_error": "ONE",
    "oracle_success": "OSR",
}
TRAINER = {"distance_to_goal": "NE", "success": "SR", "oracle_success": "OSR", "path_length": "PL"}

EVALUATORS = (
    evaluator(
        "habitat-pointnav",
        "Habitat's point goals: within 0.2 m of the nearest goal, and SoftSPL",
        f"{LAB}, DistanceToGoal (POINT), Success, SPL, SoftSPL",
        {"distance_to_goal": "NE", "success": "SR", "spl": "SPL", "soft_spl": "SoftSPL"},
        takes=SIMULATOR,
        instead=INSTEAD,
        threshold=0.2,
        **HABITAT,
    ),
    evaluator(
        "habitat-objectnav",
        "Habitat's object goals: within 0.1 m of the nearest view point of any goal",
        f"{LAB}, DistanceToGoal (VIEW_POINTS), Success, SPL, SoftSPL",
        {"distance_to_goal": "NE", "success": "SR", "spl": "SPL", "soft_spl": "SoftSPL"},
        takes={**SIMULATOR, "goals": "the view points of all goals (`views`)"},
        instead=INSTEAD,
        threshold=0.1,
        **HABITAT,
    ),
    evaluator(
        "vlnce",
        "VLN-CE, NaVILA, JanusVLN: the simulator's distances to the goal, FastDTW to the dense path",
        "jacobkrantz/VLN-CE@729d141b2e, habitat_extensions/measures.py",
        {
            **MEASURES,
            "soft_spl": "SoftSPL",
            "oracle_spl": "OSPL",
            "steps_taken": "steps",
            "ndtw": "nDTW",
            "sdtw": "SDTW",
        },
        measured={"pl": "efficiency"},
        copies=(
            "AnjieCheng/NaVILA@76b98f233d, without soft_spl",
            "MIV-XJTU/JanusVLN@266ee05be8, whose pl is not a length but efficiency, and which has no sdtw",
        ),
        takes=SIMULATOR,
        golden=("vlnce", "vlnce-navila", "vlnce-janusvln"),
        instead=INSTEAD,
        **VLNCE,
    ),
    evaluator(
        "vlnce-exact",
        "the same with exact warping (VLN-CE with FDTW off)",
        "jacobkrantz/VLN-CE@729d141b2e, habitat_extensions/measures.py, FDTW off",
        {**MEASURES, "ndtw": "nDTW", "sdtw": "SDTW"},
        takes=SIMULATOR,
        instead=INSTEAD,
        **{**VLNCE, "warping": "exact"},
    ),
    evaluator(
        "law-vlnce",
        "LAW, and the first VLN-CE: nothing is measured at the start; the share of waypoints that were passed",
        "3dlg-hcvc/LAW-VLNCE@020fa33a31, habitat_extensions/measures.py",
        {
            "path_length": "PL",
            "oracle_navigation_error": "ONE:law-vlnce",
            "oracle_success": "OSR:law-vlnce",
            "oracle_spl": "OSPL:law-vlnce",
            "steps_taken": "steps",
            "ndtw": "nDTW:law-vlnce",
            "sdtw": "SDTW:law-vlnce",
            "way_accuracy": "WA:law-vlnce",
        },
        takes={
            **SIMULATOR,
            "waypoint_distances": "how far the simulator found each position from each point of the reference; "
            "straight lines stand in",
        },
        instead="oracle_spl of an episode whose start is its goal divides by zero there, and is 0 here.",
        **{**VLNCE, "repeats": "keep"},
    ),
    evaluator(
        "ha-vln",
        "HA-VLN: as vlnce, and collisions with people",
        "F1y1113/HA-VLN@160becdae2, agent/VLN-CE/habitat_extensions/measures.py and HASimulator/metric.py",
        {**MEASURES, "ndtw": "nDTW", "sdtw": "SDTW", "TCR": "TCR:ha-vln", "CR": "CR:ha-vln", "SR": "safeSR:ha-vln"},
        takes={
            **SIMULATOR,
            "people_hit": "how often the agent ran into people",
            "people_hit_by_reference": "how often the ground truth does",
        },
        instead=INSTEAD,
        **VLNCE,
    ),
    evaluator(
        "ivlnce-tours",
        "IVLN-CE: t-nDTW, one warping over a tour of several episodes, tied at their ends",
        "jacobkrantz/IVLN-CE@14417fc093, habitat_extensions/tour_ndtw.py",
        {"t-ndtw": "tnDTW:ivlnce-tours"},
        takes={
            "query_episodes": "the episode of every position of the query",
            "query_phases": 'who moved there: "agent" or another',
            "reference_episodes": "the episode of every position of the reference",
            "reference_phases": "who moved there",
        },
        instead="Where it raises (other episodes or another order, no warping that meets the ties) the tour is "
        "undefined here. The split's score weighs a tour by its number of episodes less one; a mean here weighs tours "
        "alike.",
    ),
    evaluator(
        "etpnav",
        "ETPNav and BEVBert in VLN-CE: the threshold itself is a success, and no stop is required",
        "MarSaKi/ETPNav@8dec13a4e2, vlnce_baselines/ss_trainer_ETP.py",
        {
            **TRAINER,
            "spl": "SPL",
            "steps_taken": "steps",
            "collisions": "collisions:etpnav",
            "ndtw": "nDTW",
            "sdtw": "SDTW",
        },
        copies=("MarSaKi/VLN-BEVBert@ee40002e9e",),
        takes={"goal_distances": SIMULATOR["goal_distances"], "collisions": "how often the agent ran into something"},
        golden=("etpnav", "etpnav-bevbert"),
        instead=NAN,
        **ETPNAV,
    ),
    evaluator(
        "cwp",
        "Discrete-Continuous-VLN: as etpnav, but a stop is required, and repeats count; the oracle looks at decisions",
        "YicongHong/Discrete-Continuous-VLN@2aa38fa5a6, vlnce_baselines/common/base_il_trainer.py, low-level path",
        {**TRAINER, "oracle_success": "OSR:cwp", "collisions": "collisions:cwp", "spl": "SPL", "ndtw": "nDTW"},
        takes={
            **SIMULATOR,
            "decisions": "at which positions the agent decided; all of them, where it is not known",
            "collided": "whether it ran into something, for every move",
        },
        instead=NAN,
        **CWP,
    ),
    evaluator(
        "cwp-waypoints",
        "the same of waypoints alone, sampled every 0.25 m before length and warping are measured",
        "YicongHong/Discrete-Continuous-VLN@2aa38fa5a6, vlnce_baselines/common/base_il_trainer.py, waypoints",
        {**TRAINER, "path_length": "PL:cwp-waypoints", "spl": "SPL:cwp-waypoints", "ndtw": "nDTW:cwp-waypoints"},
        takes=SIMULATOR,
        instead=f"A vertical move, or none, divides by zero there; here no points are added to it. {NAN}",
        unmatched={"collisions": "the program prints those of the episode before"},
        **CWP,
    ),
    evaluator(
        "navid",
        "NaVid and NAVIDA: as vlnce, and unreachable episodes count as 0, even in NE",
        "jzhzhang/NaVid-VLN-CE@cf066ccd25, VLN_CE/habitat_extensions/measures.py and analyze_results.py",
        {
            "Success rate": "SR",
            "Oracle success rate": "OSR",
            "SPL": "SPL",
            "Distance to goal": "NE",
            "Path length": "PL",
        },
        measured={"pl": "efficiency"},
        copies=("waynechu1021/NAVIDA@b38df05f83, whose pl is not a length but efficiency",),
        takes=SIMULATOR,
        golden=("navid", "navid-navida"),
        instead=AT_GOAL,
        **{**VLNCE, "undefined": "zero"},
    ),
    evaluator(
        "streamvln",
        "StreamVLN: as vlnce without nDTW; unreachable episodes make its means NaN, here they are left out and counted",
        "InternRobotics/StreamVLN@e48f6ff7e9, streamvln/habitat_extensions/measures.py and streamvln_eval.py",
        {**MEASURES, "pl": "efficiency", "steps_taken": "steps"},
        takes=SIMULATOR,
        instead=f"{INSTEAD} One such episode makes its mean SPL NaN and its mean NE infinite.",
        **VLNCE,
    ),
    evaluator(
        "internnav-h",
        "InternNav in Habitat: exact warping; unreachable episodes are left out of the mean NE",
        "InternRobotics/InternNav@7a5c62400a, internnav/habitat_extensions/vln/measures.py",
        {"sucs_all": "SR", "spls_all": "SPL", "oss_all": "OSR", "nes_all": "NE", "ndtws_all": "nDTW"},
        takes=SIMULATOR,
        published="SPL of 8 episodes as InternNav logged it, to 6 digits",
        instead=f"{AT_GOAL} One commit logs the oracle error as NE: compare that with ONE.",
        **{**VLNCE, "warping": "exact"},
    ),
    evaluator(
        "internnav-pe",
        "InternNav's physical evaluator: the plane only; what it calls ndtw is the Gaussian proximity",
        "InternRobotics/InternNav@7a5c62400a, "
        "internnav/env/utils/internutopia_extension/metrics/vln_pe_metrics.py and result_logger.py",
        {
            "TL": "PL",
            "NE": "NE:internnav-pe",
            "OS": "OSR:internnav-pe",
            "SR": "SR:internnav-pe",
            "SPL": "SPL:internnav-pe",
            "ndtw": "proximity:internnav-pe",
            "steps": "steps:internnav-pe",
            "shortest_path_length": "L:internnav-pe",
            "FR": "FR:internnav-pe",
            "StR": "StR:internnav-pe",
        },
        takes={
            "finished": "whether an action ended, for every position; all count as ended where it is not known",
            "start_distance": "the dataset's geodesic distance from start to goal",
            "fail_reason": '"fall", "stuck" or another',
        },
        golden=("internnav-pe", "internnav-pe-zup"),
        instead="An episode without any finished action raises there, and is undefined here.",
        comparison="<",
        plane="all",
    ),
    evaluator(
        "navdp",
        "NavDP's point goals: 1.5 m in the plane; the length is speed times time",
        "InternRobotics/NavDP@cb33ff8172, eval_pointgoal_wheeled.py",
        {"success": "SR", "spl": "SPL:navdp", "distance": "L:navdp"},
        takes={"speeds": "the forward speed at every step", "step": "how long a step is, seconds"},
        instead="0/0 of an agent that did not move from its goal is NaN there, and 1 here.",
        threshold=1.5,
        comparison="<",
        plane="all",
    ),
)

"""Flights: AerialVLN, OpenFly, CityNav, CityNavAgent, TravelUAV, IndoorUAV, UAV-Flow."""

from __future__ import annotations

from wayscore.convention.evaluator import evaluator

HEADINGS = {
    "headings": "the yaw at every position of the query, radians",
    "reference_headings": "the same of the reference, degrees",
}

EVALUATORS = (
    evaluator(
        "aerialvln",
        "AerialVLN: 20 m in the plane to the goal, nDTW in space by FastDTW",
        "AirVLN/AirVLN@1c2fb6f17a, src/vlnce_src/env.py",
        {
            "distance_to_goal": "NE:aerialvln",
            "success": "SR:aerialvln",
            "oracle_success": "OSR:aerialvln",
            "path_length": "PL",
            "steps_taken": "steps",
            "ndtw": "nDTW",
            "sdtw": "SDTW:aerialvln",
        },
        threshold=20.0,
        repeats="drop",
        warping="fast",
    ),
    evaluator(
        "openfly",
        "OpenFly: 20 m in space; SPL divides the straight line by the agent's length, so it can exceed 1",
        "SHAILAB-IPEC/OpenFly-Platform@c075075497, train/eval.py",
        {"NE": "NE", "SR": "SR", "OSR": "OSR:openfly", "SPL": "SPL:openfly"},
        threshold=20.0,
        comparison="<",
    ),
    evaluator(
        "citynav",
        "CityNav: 20 m in the plane; also of the goals and the progress that the agent predicts",
        "water-cookie/citynav@372ecbd1df, gsamllavanav/evaluate.py",
        {
            "mean_final_pos_to_goal_dist": "NE",
            "success_rate_final_pos_to_goal": "SR",
            "mean_oracle_pos_to_goal_dist": "ONE",
            "success_rate_oracle_pos_to_goal": "OSR",
            "mean_final_pred_to_goal_dist": "predNE:citynav",
            "success_rate_final_pred_to_goal": "predSR:citynav",
            "mean_oracle_pred_to_goal_dist": "predONE:citynav",
            "success_rate_oracle_pred_to_goal": "predOSR:citynav",
            "mean_progress_mse": "progressMSE:citynav",
            "mean_final_progress_mse": "finalMSE:citynav",
        },
        takes={
            "predicted_goals": "where the agent believed the goal, for every step",
            "predicted_progress": "how far along it believed itself, 0 to 1, for every step",
        },
        instead="An episode that starts at its goal (in the plane) divides by zero and ends the program; here only the "
        "errors of progress are undefined.",
        threshold=20.0,
        plane="all",
    ),
    evaluator(
        "citynav-vlnce",
        "CityNav's baselines: the error in space and strict, the oracle in the plane",
        "water-cookie/citynav@372ecbd1df, vlnce/evaluate.py",
        {"navigation_error": "NE", "success_rate": "SR", "oracle_success_rate": "OSR:citynav-vlnce"},
        threshold=20.0,
        comparison="<",
    ),
    evaluator(
        "citynavagent",
        "CityNavAgent: 20 m in space; SPL by the reference's length, FastDTW by sums of coordinates",
        "WeichenZh/CityNavAgent@70345a9fec, evaluator/nav_evaluator.py",
        {"sr": "SR", "osr": "OSR", "spl": "SPL:citynavagent", "sdtw": "SDTW:citynavagent", "ne": "NE"},
        threshold=20.0,
        comparison="<",
    ),
    evaluator(
        "traveluav",
        "TravelUAV: success by the name of the result's folder; SPL takes 20 m off the reference",
        "prince687028/TravelUAV@5cc26e9a4a, utils/metric.py",
        {"SR": "SR:traveluav", "OSR": "OSR:traveluav", "NE": "NE", "SPL": "SPL:traveluav"},
        takes={"outcome": 'how the flight ended: "success", "oracle" or another word'},
        threshold=20.0,
    ),
    evaluator(
        "indooruav-vla",
        "IndoorUAV, short flights: 0.5 m and 45 degrees; nDTW of positions and headings by the reference's length",
        "valyentinee/IndoorUAV-Agent@4626bbe9c5, eval_metric/vla_metric.py",
        {
            "success": "SR:indooruav-vla",
            "nDTW": "nDTW:indooruav-vla",
            "final_dist": "NE:indooruav-vla",
            "final_angle_diff": "heading_error:indooruav-vla",
        },
        measured={"success_rate": "SR", "average_nDTW": "nDTW"},
        takes=HEADINGS,
        instead="Flights of one state, on which it fails, are undefined here. A flight without a pause has no nDTW, "
        "and an nDTW of 1 leaves its mean; both are undefined here.",
        threshold=0.5,
        comparison="<",
    ),
    evaluator(
        "indooruav-vln",
        "IndoorUAV, long flights: 2 m; nDTW by ten times the reference's length",
        "valyentinee/IndoorUAV-Agent@4626bbe9c5, eval_metric/vln_metric.py",
        {
            "NE": "NE:indooruav-vln",
            "SR": "SR:indooruav-vln",
            "OSR": "OSR:indooruav-vln",
            "nDTW": "nDTW:indooruav-vln",
            "final_angle_diff": "heading_error:indooruav-vln",
        },
        measured={"success_rate": "SR", "average_nDTW": "nDTW", "average_NE": "NE", "online_success_rate": "OSR"},
        takes={**HEADINGS, "termination_reason": 'flights that did not end with "no_more_instructions" are left out'},
        instead="Flights that it leaves out are undefined here.",
        threshold=2.0,
    ),
    evaluator(
        "uav-flow",
        "UAV-Flow: exact warping over position and angles, nDTW by the reference's length",
        "buaa-colalab/UAV-Flow@0114801f58, UAV-Flow-Eval/metric.py",
        {"dtw": "DTW:uav-flow", "gt_len": "L:uav-flow", "nDTW": "nDTW:uav-flow"},
        measured={"mean nDTW": "nDTW"},
        takes={
            "headings": "roll, yaw and pitch at every state of the query, degrees",
            "reference_headings": "the same of the reference",
            "class": "the kind of task; Turn, Rotate and Move are sampled or measured differently",
        },
        instead="A reference that stays in place has no nDTW there, and an undefined one here.",
    ),
)

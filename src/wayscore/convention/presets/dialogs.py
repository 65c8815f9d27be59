"""Navigation from dialog history (CVDN): several right ends."""

from __future__ import annotations

from wayscore.convention.evaluator import evaluator
from wayscore.convention.presets.graphs import ANSWERED, R2R, REFERENCE_LENGTH

TAKES = {"planner": "the planner's path, whose end the oracle path success looks at; NDH references have it"}

EVALUATORS = (
    evaluator(
        "cvdn",
        "the official NDH evaluator: goal progress towards any of the end panoramas",
        "mmurray/cvdn@97a4ae9470, tasks/NDH/eval.py",
        {**R2R, "oracle path_success_rate": "OPSR:cvdn", "dist_to_end_reduction": "GP"},
        takes=TAKES,
        published="goal progress and length in the log of the NDH baseline",
        instead="Where it raises (an unreachable node, a wrong start, a step that is not an edge, a missing answer) "
        "wayscore refuses the file.",
        comparison="<",
        unknown="skip",
        duplicate="keep",
        move="error",
    ),
    evaluator(
        "cvdn-hamt",
        "HAMT on NDH: a success ends at one of the end panoramas itself, SPL by the nearest of them",
        "cshizhe/VLN-HAMT@c8b9ee1212, finetune_src/cvdn/env.py",
        {"steps": "steps", "lengths": "PL", "sr": "SR", "oracle_sr": "OSR", "spl": "SPL:cvdn-hamt", "gp": "GP"},
        instead="Where it raises (an unreachable node, an empty path) wayscore refuses the file, or counts the episode "
        "as undefined. It does not look at the start; use --start keep for that.",
        goal="set",
        **ANSWERED,
    ),
    evaluator(
        "cvdn-navillm",
        "NaviLLM on NDH: as cvdn, but SPL compares with the reference's length and steps need no edge",
        "zd11024/NaviLLM@a221f42ad5, tasks/datasets/cvdn.py",
        {
            "lengths": "PL",
            "nav_error": "NE",
            "oracle_errors": "ONE",
            "oracle_plan_errors": "OPNE:cvdn-navillm",
            "oracle_sr": "OSR",
            "sr": "SR",
            "spl": "SPL",
            "oracle path_success_rate": "OPSR:cvdn",
            "dist_to_end_reduction": "GP",
            "shortest_path_lengths": "L:cvdn-navillm",
        },
        takes=TAKES,
        instead="Where it raises (an unreachable node, a wrong start) wayscore refuses the file, or counts the episode "
        "as undefined.",
        comparison="<",
        **REFERENCE_LENGTH,
    ),
)

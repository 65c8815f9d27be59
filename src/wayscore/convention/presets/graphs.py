"""Walks on graphs: R2R, R4R, RxR; dialogs (CVDN), with several right ends; streets (Touchdown, map2seq), in hops."""

from __future__ import annotations

from typing import Any

from wayscore.convention.choices import PAPER
from wayscore.convention.evaluator import Evaluator, evaluator

R2R = {"length": "PL", "nav_error": "NE", "oracle success_rate": "OSR", "success_rate": "SR", "spl": "SPL"}
R4R = {"dtw": "DTW", "ndtw": "nDTW", "sdtw": "SDTW"}
WALKED = {"steps": "steps", "lengths": "PL", "nav_error": "NE"}
DTWS = {"nDTW": "nDTW", "SDTW": "SDTW", "CLS": "CLS"}
RAISES = (
    "Where it raises (an unreachable node, a wrong start, an empty path) wayscore refuses the file, or counts the "
    "episode as undefined."
)
NO_LENGTH = f"{RAISES} CLS of two walks of length 0 is NaN there; its length score is 1 here."
ACTIONS = {"actions": "for action_steps (--metrics actions): DUET's nested trajectories say it"}
BACK = {
    "pred_midstop": "the node at which the agent said that it turned back",
    "midstop": "the node at which it should",
}
ANSWERED: dict[str, Any] = {"missing": "skip", "duplicate": "all"}
REFERENCE_LENGTH: dict[str, Any] = {"spl_length": "reference", "spl_floor": 0.01, **ANSWERED}
PLANNER = {"planner": "the planner's path, whose end the oracle path success looks at; NDH references have it"}

WALKS = (
    Evaluator(PAPER, "", {}),
    evaluator(
        "r4r",
        "the paper authors' released scorer: nDTW, SDTW and CLS",
        "google-research/google-research@015539128d, r4r/dtw.py and r4r/cls.py",
        {**R4R, "cls": "CLS:r4r"},
        instead="CLS adds up the weights of edges. A repeated node or a step without an edge raises there; here it "
        "counts 0 or the shortest path. Two lengths of 0 give NaN there and a length score of 1 here. An empty path is "
        "an error here; there its nDTW is 0.",
    ),
    evaluator(
        "r4r-hops",
        "the same on a graph whose edges were loaded as True: distances are hops",
        "google-research/google-research@015539128d, r4r/dtw.py and r4r/cls.py, graph by r4r/graph_utils.py",
        {**R4R, "cls": "CLS"},
        instead="As r4r.",
        distance="hops",
    ),
    evaluator(
        "r2r",
        "the official R2R evaluator: three instructions per path, every step must be an edge",
        "peteanderson80/Matterport3DSimulator@589d091b11, tasks/R2R/eval.py",
        R2R,
        published="the training log of the R2R baseline, 13 runs to all printed digits",
        instead=f"{RAISES} An agent that stays at a start which is the goal divides by zero there; its SPL is 1 here.",
        comparison="<",
        instructions=3,
        unknown="skip",
        duplicate="keep",
        move="error",
    ),
    evaluator(
        "envdrop",
        "R2R-EnvDrop, Recurrent-VLN-BERT and EnvEdit: strict comparison, SPL's denominator at least 0.01",
        "airsplay/R2R-EnvDrop@6f938abcf2, r2r_src/eval.py",
        {
            "nav_error": "NE",
            "oracle_error": "ONE",
            "steps": "steps",
            "lengths": "PL",
            "success_rate": "SR",
            "oracle_rate": "OSR",
            "spl": "SPL",
        },
        copies=(
            "YicongHong/Recurrent-VLN-BERT@ad147f464a",
            "jialuli-luka/EnvEdit@5706bec6d6, which prints ndtw, sdtw and cls too (--metrics nDTW,SDTW,CLS)",
        ),
        golden=("envdrop", "envdrop-recbert", "envdrop-envedit"),
        instead=f"{RAISES} EnvEdit's CLS of two walks of length 0 is NaN; its length score is 1 here.",
        comparison="<",
        spl_floor=0.01,
        unknown="skip",
        duplicate="keep",
    ),
    evaluator(
        "duet",
        "HAMT, DUET, BEVBert, NaviLLM: SPL compares with the reference's length, missing answers are left out",
        "cshizhe/VLN-DUET@93e8b23316, map_nav_src/r2r/env.py",
        {**WALKED, "oracle_error": "ONE", "sr": "SR", "oracle_sr": "OSR", "spl": "SPL", **DTWS},
        measured={"action_steps": "actions", "trajectory_steps": "steps", "trajectory_lengths": "PL"},
        copies=("cshizhe/VLN-HAMT@c8b9ee1212",),
        takes=ACTIONS,
        golden=("duet", "duet-hamt"),
        published="NaviLLM's own metrics of 1,021 episodes of R2R, and 14 walkers on R2R and R4R",
        instead=NO_LENGTH,
        comparison="<",
        **REFERENCE_LENGTH,
    ),
    evaluator(
        "r2r-back-hamt",
        "HAMT on R2R-Back: the middle stop must be right too",
        "cshizhe/VLN-HAMT@c8b9ee1212, finetune_src/r2r/env.py, R2RBackBatch",
        {**WALKED, "sr": "SR:r2r-back-hamt", "spl": "SPL:r2r-back-hamt", **DTWS, "SDTW": "SDTW:r2r-back-hamt"},
        takes=BACK,
        instead=NO_LENGTH,
        **REFERENCE_LENGTH,
    ),
    evaluator(
        "valan",
        "VALAN (R2R and R4R), on the graphs given; what it prints as dtw is divided by the reference's length",
        "google-research/valan@9fc6e38f41, r2r/eval_metric.py",
        {
            "path_length": "PL",
            "oracle_success": "OSR",
            "success_rate": "SR",
            "spl": "SPL:valan",
            "navigation_error": "NE",
            "num_steps_before_stop": "steps",
            "dtw": "DTW:valan",
            "norm_dtw": "nDTW",
            "sdtw": "SDTW",
            "cls": "CLS",
            "goal_progress": "GP",
        },
        instead="Where it raises (an unreachable node) the episode is undefined. Its dtw of a reference of length 0 is "
        "NaN or infinite there, and undefined here.",
        comparison="<",
    ),
)
DIALOGS = (
    evaluator(
        "cvdn",
        "the official NDH evaluator: goal progress towards any of the end panoramas",
        "mmurray/cvdn@97a4ae9470, tasks/NDH/eval.py",
        {**R2R, "oracle path_success_rate": "OPSR:cvdn", "dist_to_end_reduction": "GP"},
        takes=PLANNER,
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
        takes=PLANNER,
        instead="Where it raises (an unreachable node, a wrong start) wayscore refuses the file, or counts the episode "
        "as undefined.",
        comparison="<",
        **REFERENCE_LENGTH,
    ),
)
STREETS = (
    evaluator(
        "touchdown-vlnt",
        "VLN-Transformer on Touchdown and map2seq: hops, nDTW by the square root of |R|, edits of nodes",
        "VegB/VLN-Transformer@da1fa71e41, touchdown/env.py",
        {
            "TC": "SR",
            "SPD": "NE",
            "SED": "SED:touchdown-vlnt",
            "CLS": "CLS:touchdown-vlnt",
            "DTW": "DTW",
            "nDTW": "nDTW:touchdown-vlnt",
            "SDTW": "SDTW:touchdown-vlnt",
        },
        copies=("raphael-sch/map2seq_vln@f27b05f187",),
        golden=("touchdown-vlnt", "touchdown-map2seq"),
        instead="Its printout multiplies values below 1 by 100 and leaves others as they are; here all are fractions.",
        threshold=2.0,
        comparison="<",
        distance="hops",
    ),
    evaluator(
        "touchdown-valan",
        "VALAN on Touchdown: hops along directed links; what it prints as dtw is divided by |R|",
        "google-research/valan@9fc6e38f41, touchdown/td_problem.py",
        {
            "eval/episode_num_steps": "steps:touchdown-valan",
            "eval/navigation_error": "NE",
            "eval/success_rate": "SR",
            "eval/dtw": "DTW:touchdown-valan",
            "eval/ndtw": "nDTW",
            "eval/sdtw": "SDTW",
            "eval/sed": "SED:touchdown-valan",
        },
        threshold=2.0,
        comparison="<",
        distance="directed hops",
    ),
)

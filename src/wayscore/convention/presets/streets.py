"""Walks along streets: Touchdown and map2seq. Distances are hops."""

from __future__ import annotations

from wayscore.convention.evaluator import evaluator

EVALUATORS = (
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

"""The evaluation script that a research repository has: json, networkx, NumPy, one episode after the other.

    python evaluator.py RUN REFERENCES GRAPHS

prints eight means as JSON. It uses nothing of wayscore. Files may be gzipped, graphs a folder or a tar of them.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tarfile
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

THRESHOLD = 3.0


def load_json(path: str) -> Any:
    """Read a file that may be gzipped."""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
        return json.load(file)


def load_graphs(path: str, scans: set[str]) -> dict[str, Any]:
    """Return a networkx graph for each scan; nodes are viewpoints, edges have their length."""
    names = {f"{scan}_connectivity.json": scan for scan in scans}
    if os.path.isdir(path):
        records = {scan: load_json(os.path.join(path, name)) for name, scan in names.items()}
    else:
        records = {}
        with tarfile.open(path) as archive:
            for member in archive:
                if (name := os.path.basename(member.name)) in names:
                    records[names[name]] = json.load(archive.extractfile(member))  # type: ignore[arg-type]
    graphs = {}
    for scan, viewpoints in records.items():
        graph = nx.Graph()
        for i, one in enumerate(viewpoints):
            if not one["included"]:
                continue
            graph.add_node(one["image_id"])
            for j, is_open in enumerate(one["unobstructed"]):
                other = viewpoints[j]
                if is_open and other["included"] and i < j:
                    ends = [np.array([v["pose"][3], v["pose"][7], v["pose"][11]]) for v in (one, other)]
                    graph.add_edge(one["image_id"], other["image_id"], weight=np.linalg.norm(ends[0] - ends[1]))
        graphs[scan] = graph
    return graphs


def dtw(prediction: list[str], reference: list[str], distances: Any) -> Any:
    """Return DTW by the paper's Algorithm 1."""
    matrix = np.inf * np.ones((len(prediction) + 1, len(reference) + 1))
    matrix[0][0] = 0
    for i in range(1, len(prediction) + 1):
        for j in range(1, len(reference) + 1):
            best = min(matrix[i - 1][j], matrix[i][j - 1], matrix[i - 1][j - 1])
            matrix[i][j] = distances[prediction[i - 1]][reference[j - 1]] + best
    return matrix[len(prediction)][len(reference)]


def evaluate_item(path: list[str], reference: list[str], distances: Any) -> dict[str, Any]:
    """Return eight metrics of one episode."""
    start, goal = path[0], reference[-1]
    length = np.sum([distances[a][b] for a, b in pairwise(path)])
    errors = [distances[node][goal] for node in path]
    success = float(errors[-1] <= THRESHOLD)
    shortest = distances[start][goal]
    coverage = np.mean([np.exp(-np.min([distances[r][q] for q in path]) / THRESHOLD) for r in reference])
    expected = coverage * np.sum([distances[a][b] for a, b in pairwise(reference)])
    ndtw = np.exp(-dtw(path, reference, distances) / (THRESHOLD * len(reference)))
    return {
        "PL": length,
        "NE": errors[-1],
        "SR": success,
        "OSR": float(np.min(errors) <= THRESHOLD),
        "SPL": success * shortest / max(length, shortest) if max(length, shortest) > 0 else success,
        "CLS": coverage * expected / (expected + np.abs(expected - length)),
        "nDTW": ndtw,
        "SDTW": success * ndtw,
    }


def main(run: str, references: str, graphs: str) -> None:
    """Print the means of a run."""
    truth = {}
    for item in load_json(references):
        for k in range(len(item["instructions"])):
            truth[f"{item['path_id']}_{k}"] = item
    networks = load_graphs(graphs, {item["scan"] for item in truth.values()})
    distances = {scan: dict(nx.all_pairs_dijkstra_path_length(graph)) for scan, graph in networks.items()}
    scores = []
    for item in load_json(run):
        reference = truth[item["instr_id"]]
        path = [step[0] for step in item["trajectory"]]
        scores.append(evaluate_item(path, reference["path"], distances[reference["scan"]]))
    print(json.dumps({name: float(np.mean([score[name] for score in scores])) for name in scores[0]}))


if __name__ == "__main__":
    main(*sys.argv[1:])

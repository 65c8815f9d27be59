"""Readers: what each format's files become, how files are recognised, and every real file of the data folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wayscore.errors import FormatError, OptionError
from wayscore.formats import FORMATS, base, load_references, load_run, sniff
from wayscore.formats.episodes import Reference
from wayscore.formats.graphs import load_street_graph
from wayscore.formats.sniff import look

R2R = [
    {"path_id": 7, "scan": "s", "path": ["a", "b"], "instructions": ["go", "walk"], "distance": 2.5, "heading": 0.1},
    {"path_id": 8, "scan": "t", "path": ["c", "d"], "instructions": ["stop"], "distance": 1},
]
R4R = [dict(R2R[0], first_path_id=1, second_path_id=2, shortest_path=["a"], shortest_path_distance=1.5)]
RXR = [
    {"instruction_id": 26, "path_id": 11, "scan": "s", "path": ["a", "b"], "instruction": "Okay", "language": "en-IN"},
    {"instruction_id": 27, "path_id": 11, "scan": "s", "path": ["a", "b"], "instruction": "ठीक", "language": "hi-IN"},
]
NDH = [
    {
        "inst_idx": 5,
        "scan": "s",
        "start_pano": {"pano": "a", "heading": 1.0},
        "planner_path": ["a", "b"],
        "player_path": ["a", "b", "c"],
        "end_panos": ["c", "d"],
        "dialog_history": [{"role": "oracle", "message": "left"}],
        "game_idx": 2,
    },
    {
        "inst_idx": 6,
        "scan": "s",
        "start_pano": {"pano": "a"},
        "planner_path": ["a"],
        "player_path": ["a", "c"],
        "end_panos": ["d"],
    },
]
REVERIE = [
    {"id": "9_215", "path_id": 9, "objId": 215, "scan": "s", "path": ["a", "b"], "instructions": ["fetch", "bring"]}
]
VLNCE = {
    "instruction_vocab": {},
    "episodes": [
        {
            "episode_id": 1,
            "trajectory_id": 15,
            "scene_id": "mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb",
            "start_position": [0.0, 1.0, 2.0],
            "info": {"geodesic_distance": 7.5},
            "goals": [{"position": [3.0, 1.0, 2.0], "radius": 3.0}],
            "instruction": {"instruction_text": "Exit", "instruction_tokens": [1, 2]},
            "reference_path": [[0.0, 1.0, 2.0], [3, 1, 2]],
        }
    ],
}
VLNCE_DENSE = {"1": {"locations": [[0, 1, 2], [1, 1, 2], [3, 1, 2]], "forward_steps": 3, "actions": [1, 1, 0]}}
STREET = [
    {"route_id": 4754, "route_panoids": ["p", "q"], "navigation_text": "Turn"},
    {"id": 12, "route_panoids": ["q", "r"], "navigation_text": "Head"},
]
TABLE = [
    {"episode": "e1", "scene": "s", "path": ["a", "b"], "goals": ["b", "c"], "start_distance": 2.0},
    {"episode": 2, "scene": "s", "path": [[0, 1], [2.5, 3]], "instruction": "go"},
]
REFERENCES = {
    "r2r": R2R,
    "r4r": R4R,
    "rxr": RXR,
    "ndh": NDH,
    "reverie": REVERIE,
    "vlnce": VLNCE,
    "street": STREET,
    "table": TABLE,
}
RUNS: dict[str, Any] = {
    "r2r": [{"instr_id": "7_0", "trajectory": [["a", 0.5, 0.0], ["b", 0.5, 0]]}],
    "rxr": [{"instruction_id": 26, "path": ["a", "b"]}],
    "ndh": [{"inst_idx": 5, "trajectory": [["a", 0.5, 0.0], ["b", 0.5, 0.0]]}],
    "reverie": [{"instr_id": "9_215_0", "trajectory": [["a"], ["b"]], "predObjId": 215}],
    "vlnce": {"1": [{"position": [0, 1, 2], "heading": 0.1, "stop": False}, {"position": [3, 1, 2], "stop": True}]},
    "street": [{"route_id": 4754, "path": ["p", "q"]}],
    "table": [{"episode": "e1", "path": ["a", "b"]}],
}
LINES = {"rxr", "street", "table"}


def encode(content: Any, lines: bool) -> bytes:
    text = "\n".join(map(json.dumps, content)) + "\n" if lines else json.dumps(content)
    return text.encode()


def write(folder: Path, content: Any, name: str = "file.json", *, lines: bool = False) -> Path:
    path = folder / name
    data = encode(content, lines)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def reference(folder: Path, form: str, name: str, **options: Any) -> Reference:
    path = write(folder, REFERENCES[form], lines=form in LINES)
    return load_references(path, **options).episodes[name]


# ---------------------------------------------------------------------------------------------- references


def test_r2r_names_every_instruction(tmp_path: Path) -> None:
    references = load_references(write(tmp_path, R2R, "R2R_val.json.gz"))
    assert (references.name, references.format, references.withheld) == ("R2R_val.json.gz", "r2r", False)
    assert list(references.episodes) == ["7_0", "7_1", "8_0"]
    assert references.episodes["7_1"] == Reference("7_1", "s", ["a", "b"], "7", "walk", start_distance=2.5, heading=0.1)


def test_r4r_takes_the_shortest_distance(tmp_path: Path) -> None:
    assert reference(tmp_path, "r4r", "7_0").start_distance == 1.5


def test_rxr_keeps_one_language(tmp_path: Path) -> None:
    path = write(tmp_path, RXR, lines=True)
    assert list(load_references(path).episodes) == ["26", "27"]
    assert list(load_references(path, language="hi").episodes) == ["27"]
    assert list(load_references(path, language="en-IN").episodes) == ["26"]
    with pytest.raises(OptionError, match="'te'; it has en-IN, hi-IN"):
        load_references(path, language="te")


def test_ndh_path_types(tmp_path: Path) -> None:
    assert reference(tmp_path, "ndh", "5").path == ["a", "b"]
    assert reference(tmp_path, "ndh", "5", path_type="player").path == ["a", "b", "c"]
    assert reference(tmp_path, "ndh", "5", path_type="trusted").path == ["a", "b", "c"]
    assert reference(tmp_path, "ndh", "6", path_type="trusted").path == ["a"], "the start does not count as reached"
    found = reference(tmp_path, "ndh", "5")
    assert (found.goals, found.path_id, found.instruction) == (("c", "d"), "2", "oracle: left")
    with pytest.raises(OptionError, match="planner, player, trusted, got 'playr'; did you mean 'player'"):
        reference(tmp_path, "ndh", "5", path_type="playr")


def test_reverie_goals_are_where_the_object_is_seen(tmp_path: Path) -> None:
    assert reference(tmp_path, "reverie", "9_215_1").goals == ()
    boxes = {
        "s": {"b": {"215": {"visible_pos": [3]}}, "c": {"215": {"visible_pos": []}}, "d": {"215": {"visible_pos": [1]}}}
    }
    objects = write(tmp_path, boxes, "boxes.json")
    assert reference(tmp_path, "reverie", "9_215_1", objects=objects).goals == ("b", "d")


def test_vlnce_finds_dense_walks_beside(tmp_path: Path) -> None:
    path = write(tmp_path, VLNCE, "val.json.gz")
    found = load_references(path).episodes["1"]
    assert (found.scene, found.path_id, found.start_distance, found.dense) == ("zsNo4HB9uLZ", "15", 7.5, None)
    np.testing.assert_array_equal(found.path, [[0, 1, 2], [3, 1, 2]])
    beside = write(tmp_path, VLNCE_DENSE, "val_gt.json.gz")
    assert load_references(path).episodes["1"].dense.shape == (3, 3)
    assert load_references(path, dense=False).episodes["1"].dense is None
    moved = beside.rename(tmp_path / "walks.json.gz")
    assert load_references(path, dense=moved).episodes["1"].dense.dtype == np.float64


def test_street_names_and_scene(tmp_path: Path) -> None:
    assert reference(tmp_path, "street", "4754").scene == reference(tmp_path, "street", "12").scene == "manhattan"
    assert reference(tmp_path, "street", "12").path == ["q", "r"]


def test_test_splits_are_withheld(tmp_path: Path) -> None:
    for content in (
        [{"path_id": 1, "scan": "s", "path": ["a"], "instructions": ["go"]}],
        [{"id": "1", "scan": "s", "path": ["a"], "instructions": ["go"]}],
        [{"inst_idx": 1, "scan": "s", "start_pano": {"pano": "a"}}],
        {"episodes": [{"episode_id": 1, "scene_id": "s", "start_position": [0, 0, 0]}]},
    ):
        references = load_references(write(tmp_path, content))
        assert references.withheld
        assert all(len(found.path) == 1 for found in references.episodes.values())
    assert not load_references(write(tmp_path, NDH[1:])).withheld, "one node, but goals"


def test_records_may_be_an_array_or_lines(tmp_path: Path) -> None:
    for form, content in REFERENCES.items():
        if form != "vlnce":
            array, lines = (write(tmp_path, content, f"{way}.json", lines=way) for way in (False, True))
            assert [*load_references(array).episodes] == [*load_references(lines).episodes]


# ---------------------------------------------------------------------------------------------------- runs


def test_steps_in_every_shape(tmp_path: Path) -> None:
    shapes = {
        "1_0": [["a", 0.5, 0.0], ["b", 1, None]],
        "2_0": ["a", "b"],
        "3_0": [["a"], [], ["b", "c"]],
        "4_0": ["a", ["b", 0.0, 0.0], ["c", "d"]],
    }
    run = load_run(write(tmp_path, [{"instr_id": name, "trajectory": steps} for name, steps in shapes.items()]))
    assert [query.path for query in run.queries.values()] == [
        ["a", "b"],
        ["a", "b"],
        ["a", "b", "c"],
        ["a", "b", "c", "d"],
    ]
    for name, steps in shapes.items():  # each alone, so that each way into the reader is taken
        alone = load_run(write(tmp_path, [{"instr_id": name, "trajectory": steps}]))
        assert alone.queries[name] == run.queries[name]


def test_the_first_of_duplicates_is_kept(tmp_path: Path) -> None:
    rows = [{"instr_id": n, "trajectory": [place]} for n, place in (("1", "a"), ("2", "b"), (1, "c"), ("1", "d"))]
    run = load_run(write(tmp_path, rows, "agent.v2.json.gz"))
    assert (run.name, run.duplicates, run.queries["1"].path) == ("agent.v2", ("1",), ["a"])


def test_rxr_runs_in_their_variants(tmp_path: Path) -> None:
    for fields in (("instruction_id", "path"), ("instr_id", "path"), ("instruction_id", "trajectory")):
        run = load_run(write(tmp_path, [dict(zip(fields, ("26", ["a", "b"]), strict=True))], lines=True))
        assert (run.format, run.queries["26"].path) == ("rxr", ["a", "b"])
    follower = {"demonstration_id": 1, "instruction_id": 26, "path": ["a"], "metrics": {"ne": 0}}
    assert load_run(write(tmp_path, [follower], lines=True)).queries["26"].path == ["a"]
    continuous = [{"instruction_id": 26, "path": [[0, 1, 2], [1, 1, 2]]}]
    assert load_run(write(tmp_path, continuous, lines=True)).queries["26"].path.shape == (2, 3)


# -------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("inner", ["list", "fixed", "large"])
def test_parquet_points(tmp_path: Path, inner: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    point = pa.list_(pa.float64(), 3) if inner == "fixed" else pa.list_(pa.float32())
    kind = pa.large_list(point) if inner == "large" else pa.list_(point)
    paths = pa.array([[[0, 1, 2], [1, 1, 2]], [[5, 5, 5]]], kind)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"episode": [1, 2], "path": paths}), path)
    run = load_run(path)
    np.testing.assert_array_equal(run.queries["1"].path, [[0, 1, 2], [1, 1, 2]])
    np.testing.assert_array_equal(run.queries["2"].path, [[5, 5, 5]])


def test_csv_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        'extra,path,scene,episode,goals,start_distance\nx,"[[0.5, 1], [2, 3]]",s,"e,1",a b,2.5\nx,"[3, 4]",s,e2,,\n'
    )
    episodes = load_references(path).episodes
    assert episodes["e,1"].path.tolist() == [[0.5, 1], [2, 3]]
    assert (episodes["e,1"].goals, episodes["e,1"].start_distance) == (("a", "b"), 2.5)
    assert (episodes["e2"].path, episodes["e2"].goals, episodes["e2"].start_distance) == ([3, 4], (), None)


# ------------------------------------------------------------------------------------------------ sniffing


@pytest.mark.parametrize("form", REFERENCES)
def test_references_are_recognised(tmp_path: Path, form: str) -> None:
    path = write(tmp_path, REFERENCES[form], lines=form in LINES)
    assert load_references(path).format == form
    if form == "table":
        return  # with a scene, a row can be either
    with pytest.raises(
        FormatError, match=rf"looks like {FORMATS[form].title} references, not a run; give it with references="
    ):
        load_run(path)


@pytest.mark.parametrize("form", RUNS)
def test_runs_are_recognised(tmp_path: Path, form: str) -> None:
    path = write(tmp_path, RUNS[form], lines=form in LINES)
    assert load_run(path).format == form
    with pytest.raises(FormatError, match=rf"looks like a run in the {FORMATS[form].title} format, not references"):
        load_references(path)


def test_format_overrides_and_explains(tmp_path: Path) -> None:
    run = write(tmp_path, RUNS["r2r"])
    assert load_run(run, "r4r").format == "r4r"
    with pytest.raises(FormatError, match=r"record 0: the field 'inst_idx'.*the file looks like R2R references"):
        load_run(write(tmp_path, [{**R2R[0], "trajectory": ["a"]}]), "ndh")
    with pytest.raises(OptionError, match="there is no format 'ndj'; did you mean 'ndh'"):
        load_run(run, "ndj")
    with pytest.raises(OptionError, match="R2R references have no option 'dense'; they have none"):
        load_references(write(tmp_path, R2R), dense="x")


def test_other_files_are_named(tmp_path: Path) -> None:
    for content, words in (
        (VLNCE_DENSE, "ground truth walks"),
        ({"7_0": {"nav_error": 1.0, "spl": 0.5}}, "scores of single episodes"),
        ([{"image_id": "a", "unobstructed": [True]}], "connectivity graph"),
        ([{"name": "x", "value": 3}], "a JSON array whose first fields are 'name', 'value'"),
        ([1, 2], "a JSON array without records"),
    ):
        with pytest.raises(FormatError, match=words):
            load_run(write(tmp_path, content))


def test_strings_do_not_confuse_the_sniffer() -> None:
    head = look(b'[{"a": "}]{\\"", "b": [{"c": 1}], "d": null}, {"e": 1}]')
    assert (head.keys, head.inner, head.cut) == ({"a", "b", "d"}, {"c"}, False)
    assert look(b'{"a": [1, 2]}\n{"a": 2}').layout == "lines"
    assert look(b'{"a": [1').cut


def test_plugins_are_asked_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        name = title = "mine"

        def sniff(self, beginning: Any) -> tuple[str, ...]:
            return ("run",) if beginning.has("walked") else ()

        def references(self, source: Any) -> Any:
            raise AssertionError("only a run is read here")

        def run(self, source: Any) -> Any:
            return base.make_batch(source, [])

    monkeypatch.setattr(sniff, "_installed", lambda: {"mine": Mine()})
    assert load_run(write(tmp_path, [{"walked": 1}])).format == "mine"
    assert load_run(write(tmp_path, RUNS["r2r"])).format == "r2r"
    assert load_run(write(tmp_path, RUNS["r2r"]), "mine").format == "mine"


# --------------------------------------------------------------------------------------------- street graph


def street_files(folder: Path, nodes: str, links: str) -> tuple[Path, Path]:
    (folder / "nodes.txt").write_text(nodes)
    (folder / "links.txt").write_text(links)
    return folder / "nodes.txt", folder / "links.txt"


NODES = "p,117,40.5,-73.5\nq,10,40.6,-73.6\nr,0,40.7,-73.7\n"


def test_street_graph_counts_hops(tmp_path: Path) -> None:
    files = street_files(tmp_path, NODES, "p,297,q\nq,118,p\nq,5,r\n")
    graph = load_street_graph(*files)
    assert (len(graph), len(graph.edges), graph.distance("r", "p")) == (3, 2, 2.0)
    assert graph.positions is not None
    assert graph.positions[0].tolist() == [-73.5, 40.5]
    directed = load_street_graph(*files, directed=True)
    assert (len(directed.edges), directed.distance("p", "r"), directed.distance("r", "p")) == (3, 2.0, np.inf)


@pytest.mark.parametrize(
    ("nodes", "links", "words"),
    [
        ("", "", "nodes.txt: is empty"),
        (NODES, "", "links.txt: is empty"),
        (NODES, "p,297\n", "links.txt, line 1: has 2 fields, expected 3"),
        (NODES, "p,297,q\n\np,297,z\n", "line 3: panorama 'z' is not among the 3"),
        (NODES + "p,1,2,3\n", "p,1,q", "line 4: panorama 'p' comes twice"),
        ("p,117,x,2\n", "", "line 1: expected degrees as a finite number, got 'x'"),
        ("p,117,nan,2\n", "", "line 1: expected degrees as a finite number, got 'nan'"),
    ],
)
def test_street_graph_damaged(tmp_path: Path, nodes: str, links: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        load_street_graph(*street_files(tmp_path, nodes, links))


# ----------------------------------------------------------------------------------------------- real data

COUNTS = {
    "r2r/R2R_train": ("r2r", 4675, 14039),
    "r2r/R2R_val_seen": ("r2r", 340, 1021),
    "r2r/R2R_val_unseen": ("r2r", 783, 2349),
    "r2r/R2R_test": ("r2r", 1391, 4173),
    "r4r/R4R_val_seen": ("r4r", 115, 1035),
    "fgr2r/FGR2R_val_seen": ("r2r", 340, 1021),
    "fgr2r/FGR2R_val_unseen": ("r2r", 783, 2349),
    "reverie/REVERIE_train": ("reverie", None, 10290),
    "reverie/REVERIE_val_seen": ("reverie", None, 1384),
    "reverie/REVERIE_val_unseen": ("reverie", None, 3433),
    "reverie/REVERIE_test": ("reverie", None, 6144),
    "ndh/NDH_val_seen": ("ndh", None, 382),
    "ndh/NDH_val_unseen": ("ndh", None, 907),
    "street/map2seq_seen_dev": ("street", 800, 800),
    "street/map2seq_seen_test": ("street", 800, 800),
    "street/map2seq_unseen_dev": ("street", 800, 800),
    "street/map2seq_unseen_test": ("street", 800, 800),
    "street/touchdown_unseen_dev": ("street", 800, 800),
    "vlnce/R2R_VLNCE_v1-3/val_seen/val_seen": ("vlnce", None, 778),
    "vlnce/R2R_VLNCE_v1-3/val_unseen/val_unseen": ("vlnce", None, 1839),
}


@pytest.mark.parametrize("name", COUNTS)
def test_real_references(data: Path, name: str) -> None:
    form, paths, episodes = COUNTS[name]
    references = load_references(data / f"{name}.json.gz")
    assert (references.format, len(references.episodes)) == (form, episodes)
    assert references.withheld == name.endswith("_test") * (form in {"r2r", "reverie"})
    if paths is not None:
        assert len({found.path_id for found in references.episodes.values()}) == paths
    if form == "vlnce":
        walks = [found.dense for found in references.episodes.values()]
        assert sum(map(len, walks)) == {778: 30934, 1839: 68124}[episodes]


def real_runs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json.gz") if "item_metrics" not in path.name)


def test_real_runs_join_their_references(data: Path) -> None:
    for form, files in (("r2r", "r2r/R2R_{}"), ("ndh", "ndh/NDH_{}")):
        known = {
            split: load_references(data / f"{files.format(split)}.json.gz").episodes
            for split in ("val_seen", "val_unseen")
        }
        runs = real_runs(data / "predictions" / form)
        assert runs
        for path in runs:
            run = load_run(path)
            episodes = known["val_unseen" if path.name.startswith("val_unseen") else "val_seen"]
            assert (run.format, run.duplicates) == (form, ())
            expected = 1020 if path.name == "val_seen_qwen25vl_panoramic_half.json.gz" else len(episodes)
            assert len(run.queries) == expected, path.name
            assert run.queries.keys() <= episodes.keys(), path.name
            assert all(query.path[0] == episodes[name].path[0] for name, query in run.queries.items())


def test_real_continuous_run(data: Path) -> None:
    run = load_run(data / "vlnce/results/gridmap_agent_val_unseen_3scenes_locations.json.gz")
    episodes = load_references(data / "vlnce/R2R_VLNCE_v1-3/val_unseen/val_unseen.json.gz").episodes
    assert (run.format, len(run.queries)) == ("vlnce", 420)
    assert run.queries.keys() <= episodes.keys()
    near = [np.linalg.norm(q.path[0] - episodes[name].path[0]) < 0.01 for name, q in run.queries.items()]
    assert sum(near) == 402


def test_real_street_graph(data: Path) -> None:
    graph = load_street_graph(data / "street/nodes.txt.gz", data / "street/links.txt.gz", directed=True)
    assert (len(graph), len(graph.edges)) == (29641, 61319)
    routes = load_references(data / "street/touchdown_unseen_dev.json.gz").episodes.values()
    assert all(place in graph.index for route in routes for place in route.path)


def test_real_reverie_goals(data: Path) -> None:
    references = load_references(
        data / "reverie/REVERIE_val_unseen.json.gz", objects=data / "semantics/reverie_bbox.json.gz"
    )
    seen = [found.path[-1] in found.goals for found in references.episodes.values()]
    assert np.mean(seen) > 0.95, "paths end where the object is seen"

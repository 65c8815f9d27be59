"""score_table: Arrow in, Arrow out, as `score` scores the same paths; inside DuckDB, Polars and pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from wayscore.evaluation.arrow import score_table

import wayscore as ws
from tests.bulk_data import Town, by_number, carried, in_codes, in_dictionaries, in_points
from wayscore.episodes import Query, Reference, References, Run
from wayscore.scoring import score_joined

METRICS = "NE,SR,nDTW,SDTW"


def expected(town: Town, walks: pa.Table, **options: Any) -> Any:
    """What `score` makes of walks that name their episodes."""
    return ws.score(
        references=[town.references.episodes[name].path for name in walks["episode"].to_pylist()],
        queries=walks["path"].to_pylist(),
        distance=town.graphs,
        scenes=walks["scene"].to_pylist(),
        **options,
    )


def expected_of_points(points: pa.Table, references: References) -> Any:
    asked = [references.episodes[name].path for name in points["episode"].to_pylist()]
    return ws.score(references=asked, queries=[np.array(path) for path in points["path"].to_pylist()])


def assert_scores(found: pa.Table, table: Any) -> None:
    assert found.column_names[-len(table.metrics) :] == table.metrics
    assert found.num_rows == len(table)
    for symbol in table.metrics:
        assert np.array_equal(found[symbol].to_numpy(), table[symbol]), symbol


# As score does


@pytest.mark.parametrize("options", [{}, {"metrics": METRICS, "threshold": 1.5}, {"convention": "r4r-hops"}])
def test_by_their_references(town: Town, options: dict[str, Any]) -> None:
    found = score_table(town.walks, distance=town.graphs, references=town.references, **options)
    assert_scores(found, expected(town, town.walks, **options))
    assert found["episode"].to_pylist() == town.walks["episode"].to_pylist()
    assert found["scene"].to_pylist() == town.walks["scene"].to_pylist()


def test_rows_that_carry_their_references(town: Town) -> None:
    found = score_table(carried(town), distance=town.graphs)
    assert_scores(found, expected(town, town.walks))
    assert found["episode"].to_pylist() == town.walks["episode"].to_pylist()
    bare = carried(town).select(["path", "reference", "scene"]).rename_columns(["query", "reference", "scene"])
    found = score_table(bare, distance=town.graphs)
    assert_scores(found, expected(town, town.walks))
    assert found.column_names[0] == "scene"


@pytest.mark.parametrize("scene", [True, False])
def test_one_distance_for_all_rows(town: Town, scene: bool) -> None:
    rows = carried(town).filter(pa.compute.equal(carried(town)["scene"], "world1"))
    wanted = expected(town, rows)
    rows = rows if scene else rows.drop_columns("scene")
    assert_scores(score_table(rows, distance=town.graphs["world1"]), wanted)
    one = town.graphs["world1"]
    assert_scores(score_table(rows, distance=ws.Table(one.table, one.nodes)), wanted)


def test_points(town: Town) -> None:
    answers, references = in_points(town)
    asked = [references.episodes[name] for name in answers["episode"].to_pylist()]
    wanted = expected_of_points(answers, references)
    assert_scores(score_table(answers, references=references), wanted)
    own = answers.append_column("reference", pa.array([one.path.tolist() for one in asked]))
    for distance in (None, ws.Euclidean()):
        assert_scores(score_table(own, distance=distance), wanted)
    fixed = pa.list_(pa.list_(pa.float64(), 3))
    columns = {name: own[name].cast(fixed) for name in ("path", "reference")}
    assert_scores(score_table(pa.table(columns)), wanted)
    single = pa.list_(pa.list_(pa.float32()))
    rounded = score_table(pa.table({name: own[name].cast(single) for name in columns}))
    assert np.allclose(rounded["NE"].to_numpy(), wanted["NE"], atol=1e-5)


def test_points_by_another_distance() -> None:
    grid = ws.Grid(np.ones((9, 9), dtype=bool))
    paths = [[[0.5, 0.5], [4.5, 0.5]], [[0.5, 0.5], [0.5, 6.5], [3.5, 6.5]]]
    asked = [[[0.5, 0.5], [4.5, 3.5]], [[0.5, 0.5], [3.5, 3.5]]]
    wanted = ws.score(references=asked, queries=paths, distance=grid)
    assert_scores(score_table(pa.table({"query": paths, "reference": asked}), distance=grid), wanted)


def test_conventions_that_ask_for_more(town: Town) -> None:
    answers, references = in_points(town)
    found = score_table(answers, references=references, convention="vlnce")
    walks = {
        row["episode"]: Query(row["episode"], np.array(row["path"]), row["stopped"]) for row in answers.to_pylist()
    }
    joined = ws.join(Run("agent", "table", walks), references)
    assert_scores(found, score_joined(joined, distance=None, convention="vlnce"))


# In any layout


@pytest.mark.parametrize(
    "layout",
    {
        "codes": in_codes,
        "dictionaries": in_dictionaries,
        "large": lambda walks: walks.cast(large(walks, pa.large_string())),
        "views": lambda walks: walks.cast(large(walks, pa.string_view())),
        "chunks": lambda walks: pa.concat_tables([walks.slice(0, 1000), walks.slice(1000, 1), walks.slice(1001)]),
        "slices": lambda walks: pa.concat_tables([walks.slice(5), walks]).slice(len(walks) - 5),
        "one batch": lambda walks: walks.combine_chunks().to_batches()[0],
        "reader": lambda walks: pa.RecordBatchReader.from_batches(walks.schema, walks.to_batches(max_chunksize=999)),
    }.items(),
    ids=lambda item: item[0],
)
def test_any_layout(town: Town, layout: Any) -> None:
    found = score_table(layout[1](town.walks), distance=town.graphs, references=town.references, metrics=METRICS)
    assert_scores(found, expected(town, town.walks, metrics=METRICS))
    assert found["episode"].to_pylist() == town.walks["episode"].to_pylist()


def large(walks: pa.Table, text: Any) -> pa.Schema:
    kinds = {"episode": text, "scene": text, "path": pa.large_list(text), "stopped": pa.bool_()}
    return pa.schema([(name, kinds[name]) for name in walks.column_names])


@pytest.mark.parametrize("rows", [slice(7, 8), slice(100, 2000), slice(50, 50)])
def test_sliced_batches(town: Town, rows: slice) -> None:
    batch = town.walks.combine_chunks().to_batches()[0]
    some = batch.slice(rows.start, rows.stop - rows.start)
    coded = in_codes(town.walks).slice(rows.start, rows.stop - rows.start)
    for given in (some, coded):
        found = score_table(given, distance=town.graphs, references=town.references)
        assert_scores(found, expected(town, pa.Table.from_batches([some])))


def test_integers(town: Town) -> None:
    walks, references, graphs = by_number(town)
    found = score_table(walks, distance=graphs, references=references, metrics=METRICS)
    assert_scores(found, expected(town, town.walks, metrics=METRICS))
    numbered = {str(n): Reference(str(n), "S", [0, 1], str(n)) for n in range(3)}
    asked = References("asked", "table", numbered)
    line = ws.Graph.from_edges([(0, 1), (1, 2)])
    table = pa.table({"episode": [2, 0, 1], "path": [[0], [0, 1], [0, 1, 2]]})
    found = score_table(table, distance=line, references=asked, metrics="NE")
    assert found.to_pylist() == [{"episode": str(n), "NE": ne} for n, ne in ((2, 1.0), (0, 0.0), (1, 1.0))]


# In other programs


def test_polars(town: Town) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(town.walks)
    found = score_table(frame, distance=town.graphs, references=town.references, metrics=METRICS)
    wanted = expected(town, town.walks, metrics=METRICS)
    assert_scores(found, wanted)

    def scored(batch: Any) -> Any:
        table = score_table(batch, distance=town.graphs, references=town.references, metrics=METRICS)
        return polars.from_arrow(table.select(METRICS.split(",")))

    lazily = frame.lazy().map_batches(scored, schema=dict.fromkeys(METRICS.split(","), polars.Float64)).collect()
    assert_scores(lazily.to_arrow(), wanted)
    grouped = frame.group_by("scene", maintain_order=True).map_groups(scored)
    assert sorted(grouped["nDTW"].to_list()) == sorted(wanted["nDTW"].tolist())


def test_pandas(town: Town) -> None:
    pytest.importorskip("pandas")
    frame = town.walks.to_pandas()
    wanted = expected(town, town.walks, metrics=METRICS)
    assert_scores(score_table(frame, distance=town.graphs, references=town.references, metrics=METRICS), wanted)
    even = frame[frame.index % 2 == 0]  # whose index is no longer a range
    found = score_table(even, distance=town.graphs, references=town.references, metrics=METRICS)
    assert found["nDTW"].to_pylist() == wanted["nDTW"].tolist()[::2]
    points, references = in_points(town)
    assert_scores(score_table(points.to_pandas(), references=references), expected_of_points(points, references))


def test_duckdb(town: Town) -> None:
    duckdb = pytest.importorskip("duckdb")
    walks = carried(town)
    wanted = expected(town, town.walks, metrics=METRICS)
    with duckdb.connect() as connection:
        connection.register("walks", walks)
        relation = connection.sql("SELECT scene, path AS query, reference FROM walks")
        assert_scores(score_table(relation, distance=town.graphs, metrics=METRICS), wanted)
        reader = pa.RecordBatchReader.from_stream(relation)
        batches = [score_table(batch, distance=town.graphs, metrics=METRICS) for batch in reader]
        assert_scores(pa.concat_tables(batches), wanted)

        def ndtw(scene: Any, query: Any, reference: Any) -> Any:
            table = pa.table({"scene": scene, "query": query, "reference": reference})
            return score_table(table, distance=town.graphs, metrics="nDTW")["nDTW"]

        labels = "VARCHAR[]"
        connection.create_function("ndtw", ndtw, ["VARCHAR", labels, labels], "DOUBLE", type="arrow")
        found = connection.sql("SELECT ndtw(scene, path, reference) AS nDTW FROM walks").to_arrow_table()
        assert found["nDTW"].to_pylist() == wanted["nDTW"].tolist()
        means = connection.sql("SELECT scene, avg(ndtw(scene, path, reference)) FROM walks GROUP BY scene").fetchall()
    assert {scene for scene, _ in means} == set(town.graphs)


# Bad tables


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"reference": [["a"]]}, r"the columns are reference; expected path \(or query\), and episode"),
        ({"query": [["a"]]}, r"the columns are query; expected path .*and episode or scene and reference"),
        ({"query": ["a"], "reference": [["a"]]}, "row 0: the column 'query' must hold lists, got Arrow type string"),
        ({"query": [["a"]], "reference": [None]}, "row 0: the column 'reference' must hold lists, got Arrow type null"),
        ({"query": [["a"], None], "reference": [["a"], ["a"]]}, "row 1: the column 'query' is null"),
        ({"query": [["a"], []], "reference": [["a"], ["a"]]}, "row 1: the query is empty"),
        ({"query": [["a"], ["b", None]], "reference": [["a"], ["a"]]}, "row 1: the query holds a null"),
        ({"query": [["a"], ["z"]], "reference": [["a"], ["a"]]}, r"row 1: visits a place .*; leave the row out"),
        ({"query": [["a"]], "reference": [["z"]]}, "row 0: its reference visits a place"),
        ({"query": [["a"]], "episode": ["1"]}, "row 0: rows carry no reference; give the references"),
        ({"query": [[[0.0]]], "reference": [["a"]]}, "row 0: paths hold points, but scenes know nodes by"),
    ],
)
def test_bad_tables(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ws.FormatError, match=message):
        score_table(pa.table(columns), distance=ws.Graph.from_edges(["ab", "bc"]))


@pytest.mark.parametrize("table", [{"query": [["a"]]}, None, [["a"]]])
def test_what_is_no_table(table: Any) -> None:
    with pytest.raises(ws.OptionError, match=f"a frame that turns into one, got {type(table).__name__}"):
        score_table(table)


def test_a_frame_of_mixed_cells() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ws.OptionError, match="a frame that turns into one, got DataFrame"):
        score_table(pandas.DataFrame({"query": [["a"], 7], "reference": [["a"], ["a"]]}))


def test_unknown_names(town: Town) -> None:
    table = pa.table({"episode": ["1_0", "nobody"], "path": [["x00y00"]] * 2})
    with pytest.raises(ws.FormatError, match=r"row 1 \(episode 'nobody'\): answers an episode .*; leave the row out"):
        score_table(table, distance=town.graphs, references=town.references)
    table = pa.table({"scene": ["attic"], "query": [["a"]], "reference": [["a"]]})
    with pytest.raises(ws.FormatError, match="row 0: there is no scene 'attic' among the 3"):
        score_table(table, distance=town.graphs)

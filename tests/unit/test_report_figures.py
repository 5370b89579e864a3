"""Figures: tidy data in, reproducible bytes out, nothing cut off."""

import csv
import math
from dataclasses import replace

import pytest
from golden import example_report as example

from replicse.errors import BadInput
from replicse.report import figures
from replicse.report.content.items import Result
from replicse.report.content.records import density_records, records_of, spectrum_records
from replicse.report.figures import draw


def spectra():
    return {
        name: {"singular_values": [math.exp(-rate * place) for place in range(40)], "effective_rank": 3.0}
        for name, rate in (("BERT", 0.3), ("SimCSE", 0.05))
    }


def densities():
    edges = [-1 + place / 10 for place in range(21)]
    groups = {
        group: {"n": 9, "density": [math.exp(-((place - 12 - shift) ** 2) / 4) for place in range(20)]}
        for shift, group in enumerate(("0-1", "1-2", "2-3"))
    }
    return {
        name: {"edges": edges, **groups, "failures": {}}
        for name in ("BERT", "BERT-whitening", "SBERT", "SimCSE")
    }


RECORDS = {
    "trajectory": lambda: records_of(example.trajectory_figure()),
    "scatter": lambda: records_of(example.scatter_figure()),
    "profile": lambda: records_of(example.dropout_table()),
    "bars": lambda: records_of(example.augmentation_table()),
    "spectrum": lambda: spectrum_records(spectra()),
    "density": lambda: density_records(densities()),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_every_kind_is_written_with_its_data_and_the_same_bytes_twice(kind, tmp_path):
    records = RECORDS[kind]()
    files = draw(kind, records, tmp_path / "one" / "table.3", title="A title")
    assert [path.name for path in files] == [f"table.3.{suffix}" for suffix in ("svg", "png", "pdf", "csv")]
    again = draw(kind, records, tmp_path / "two" / "table.3", title="A title")
    for first, second in zip(files, again, strict=True):
        assert first.read_bytes() == second.read_bytes() and first.stat().st_size > 300
    with files[-1].open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows == [
        {name: "" if value is None else str(value) for name, value in record.items()} for record in records
    ]
    for path in files[:3]:
        assert b"/tmp" not in path.read_bytes() and b"202" not in path.read_bytes()[:400]


def test_mistakes_are_named(tmp_path):
    with pytest.raises(BadInput, match='did you mean "scatter"'):
        draw("scater", [{}], tmp_path / "x")
    with pytest.raises(BadInput, match="nothing to draw"):
        draw("scatter", [], tmp_path / "x")
    with pytest.raises(BadInput, match="from evaluations"):
        records_of(replace(example.scatter_figure(), figure="density"))
    assert not list(tmp_path.iterdir())


def test_a_trajectory_keeps_the_order_of_training():
    records = records_of(example.trajectory_figure())
    first = [record for record in records if record["method"] == "Unsup. SimCSE"]
    assert [record["step"] for record in first] == [f"step {step}" for step in range(0, 201, 10)] + ["final"]
    assert {record["source"] for record in records} == {"reproduced"}


def test_reported_points_stand_in_a_panel_of_their_own():
    item = example.trajectory_figure()
    printed = tuple(replace(result, reported=f"{result.reproduced:.2f}") for result in item.results)
    records = records_of(replace(item, results=printed))
    assert [record["source"] for record in records] == ["reported"] * 88 + ["reproduced"] * 88
    drawn = figures.trajectory(records)
    assert [axes.get_title(loc="left") or axes.get_title() for axes in drawn.axes] == [
        "reported",
        "reproduced",
    ]
    assert drawn.axes[0].get_xlim() == drawn.axes[1].get_xlim()
    assert "lower is better" in drawn.axes[1].get_xlabel()
    assert "lower is better" in drawn.axes[0].get_ylabel()


def test_a_cell_without_both_measures_gives_no_point():
    item = example.scatter_figure()
    records = records_of(
        replace(item, results=tuple(r for r in item.results if (r.row, r.metric) != ("SBERT", "alignment")))
    )
    assert "SBERT" not in {record["label"] for record in records} and len(records) == len(item.rows) - 1
    assert {record["metric"] for record in records} == {"spearman"}


def test_records_of_a_profile_leave_blanks():
    records = records_of(example.dropout_table())
    by_row = {record["row"]: record for record in records}
    assert by_row["0.2"] == {
        "row": "0.2",
        "reported": 80.5,
        "reproduced": None,
        "low": None,
        "high": None,
        "metric": "STS-B (spearman)",
    }
    first = records_of(example.augmentation_table())[0]
    described = example.augmentation_table().results[0]
    assert described.protocol == "as-described" and first["reproduced"] == described.reproduced


@pytest.mark.parametrize(
    ("row", "on"),
    [
        ("0.1", True),
        ("p = 0.1", True),
        ("τ=1", True),
        ("10%", True),
        ("−5", True),
        ("Fixed 0.1", False),
        ("N/A", False),
    ],
)
def test_rows_that_set_a_number_are_joined(row, on):
    records = [
        {"row": name, "reported": 1.0, "reproduced": 2.0, "low": None, "high": None, "metric": "m"}
        for name in ("0.2", row)
    ]
    line = figures.profile(records).axes[0].lines[0]
    assert math.isnan(line.get_ydata()[1]) == (not on)


def test_a_text_that_is_no_number_gives_no_point():
    item = example.dropout_table()
    results = (
        replace(item.results[0], reported="N/A"),
        Result(row="p001", column="STS-B", metric="spearman"),
    )
    assert [record["reported"] for record in records_of(replace(item, results=results))] == [None]


def test_methods_differ_in_colour_and_marker():
    drawn = figures.trajectory(records_of(example.trajectory_figure()))
    handles = drawn.legends[0].legend_handles
    looks = {(handle.get_color(), handle.get_marker()) for handle in handles[:4]}
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == 4
    assert [text.get_text() for text in drawn.legends[0].get_texts()][-2:] == ["start", "final"]


@pytest.mark.parametrize("count", [1, 2, 3, 30])
def test_arrows_point_along_the_way(count):
    x, y = list(range(count)), [0.0] * count
    places = figures._arrow_places(x, y)
    assert places == sorted(set(places)) and all(place < count - 1 for place in places)
    assert len(places) == min(3, count - 1)
    assert figures._arrow_places([1.0, 1.0], [2.0, 2.0]) == []


@pytest.mark.parametrize("kind", RECORDS)
def test_nothing_is_cut_off(kind):
    import matplotlib

    with matplotlib.rc_context(figures.STYLE):
        drawn = figures.DRAWERS[kind](RECORDS[kind]())
        drawn.canvas.draw()
        whole = drawn.get_tightbbox(drawn.canvas.get_renderer())
    width, height = drawn.get_size_inches()
    assert whole.x0 >= -0.01 and whole.y0 >= -0.01
    assert whole.x1 <= width + 0.01 and whole.y1 <= height + 0.01


def test_labels_of_points_do_not_cover_each_other():
    import matplotlib

    with matplotlib.rc_context(figures.STYLE):
        drawn = figures.scatter(records_of(example.scatter_figure()))
        boxes = [text.get_window_extent() for text in drawn.axes[0].texts]
    assert len(boxes) == len(example.PLANE)
    pairs = [(one, other) for place, one in enumerate(boxes) for other in boxes[:place]]
    assert all(figures._overlap(one, other) == 0 for one, other in pairs)


def test_records_of_evaluations():
    assert spectrum_records({"a": {"singular_values": [1.0, 0.5]}, "b": {"singular_values": None}}) == [
        {"encoder": "a", "index": 1, "value": 1.0},
        {"encoder": "a", "index": 2, "value": 0.5},
    ]
    found = {
        "edges": [-1.0, 0.0, 1.0],
        "0-1": {"n": 2, "density": [0.25, 0.75]},
        "1-2": {"n": 0, "density": None},
    }
    assert density_records({"a": found}) == [
        {"encoder": "a", "group": "0-1", "cosine": -0.5, "density": 0.25},
        {"encoder": "a", "group": "0-1", "cosine": 0.5, "density": 0.75},
    ]

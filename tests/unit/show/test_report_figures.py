"""Figures: tidy data, reproducible bytes, and complete text."""

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from golden import example_report as example

from replicse.cli.render import draw_item
from replicse.errors import BadInput
from replicse.show import figures
from replicse.show.canvas import INK
from replicse.show.content.records import as_csv, records_of
from replicse.show.figures import draw, frame
from replicse.show.looks import BLACK, method_looks

# An example for each kind of figure.
DRAWN = {
    "trajectory": "trajectory",
    "scatter": "scatter",
    "profile": "dropout",
    "bars": "augmentation",
    "spectrum": "spectrum",
    "density": "density",
    "density-own-scales": "density",
    "effects": "dropout",
}


def as_strings(record):
    present = {name: str(value) for name, value in record.items() if value is not None}
    return dict.fromkeys(record, "") | present


def texts_of(artists):
    """Return the strings of texts in a figure as a list."""
    return [artist.get_text() for artist in artists]


def boxes_of(artists):
    """Return a list of the bounding boxes of texts in a figure."""
    return [artist.get_window_extent() for artist in artists if artist.get_text()]


def have_overlap(boxes):
    return any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def item_of(kind, scale="paper"):
    """Return an example for a kind of figure.

    The example for effects has a baseline row.

    Args:
        kind: Kind of figure, such as "effects".
        scale: Scale of the study. Default: "paper".
    """
    item = example.item(DRAWN[kind], scale)
    return example.percentages(item).model_copy(update={"figure": kind}) if kind == "effects" else item


@pytest.mark.parametrize("kind", ["profile", "density"])
def test_a_kind_is_written_with_its_data_and_the_same_bytes_twice(kind, tmp_path):
    records = records_of(item_of(kind))
    files = draw(kind, records, tmp_path / "one" / "table.3", title="A title")
    assert [path.name for path in files] == ["table.3.svg", "table.3.png", "table.3.pdf", "table.3.csv"]
    again = draw(kind, records, tmp_path / "two" / "table.3", title="A title")
    for first, second in zip(files, again, strict=True):
        assert first.read_bytes() == second.read_bytes() and first.stat().st_size > 300
    with files[-1].open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows == list(map(as_strings, as_csv(records)))
    assert b"<dc:title>A title<" in files[0].read_bytes()
    for path in files[:3]:
        assert b"/tmp" not in path.read_bytes() and b"202" not in path.read_bytes()[:400]


def test_effects_are_the_differences_to_the_baseline_row_under_the_same_seed():
    item = item_of("effects")
    records = {record["row"]: record for record in records_of(item)}
    (column,) = item.columns
    assert len(records) > 2 and item.row_names[item.baseline] not in records
    ours = item.described[item.id_at("p0.0", column)].values
    base = item.described[item.id_at(item.baseline, column)].values
    mean = np.mean([one.value - other.value for one, other in zip(ours, base, strict=True)])
    found = records[item.row_names["p0.0"]]
    assert found["value"] == pytest.approx(mean) and found["low"] < mean < found["high"]


def test_mistakes_are_named(tmp_path):
    with pytest.raises(BadInput, match='did you mean "scatter"'):
        draw("scater", [{}], tmp_path / "x")
    with pytest.raises(BadInput, match="cannot draw the figure"):
        draw("scatter", [], tmp_path / "x")
    with pytest.raises(BadInput, match='figure "" is unknown'):
        draw("", records_of(example.item("temperature")), tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_trajectory_has_a_line_by_seed_and_names_that_hide_no_other():
    item = item_of("trajectory")
    drawn = figures.trajectory(frame([each for each in records_of(item) if each["source"] == "reproduced"]))
    (axes,) = drawn.axes
    (row, *_), seeds = item.rows, [0, 1, 2, 3, 4]
    cells = [item.described[item.id_at(row.id, column)] for column in item.columns]
    ways = [line.get_ydata() for line in axes.lines if line.get_linewidth() < 0.5]
    for seed in seeds:
        values = [cell.values[seed].value for cell in cells if cell.metric == "alignment"]
        assert any(list(way) == values for way in ways)
    assert list(filter(None, texts_of(axes.texts))) == [each.label for each in item.rows]
    assert not have_overlap(boxes_of(axes.texts))


def test_planes_of_a_trajectory_share_a_row_and_the_key_names_many_methods():
    item = item_of("trajectory")
    drawn = figures.trajectory(frame(records_of(item)))
    left, right = drawn.axes
    assert left.get_position().y0 == right.get_position().y0
    assert {axes.get_xlabel() for axes in drawn.axes} == {"uniformity (lower is better)"}
    assert (left.get_ylabel(), right.get_ylabel()) == ("alignment (lower is better)", "")
    rows = [row.label for row in item.rows]
    assert texts_of(drawn.legends[0].get_texts())[: len(rows)] == rows
    assert not any(texts_of([*left.texts, *right.texts]))


def titles(axes):
    return "\n".join(axes.get_title(loc=side) for side in ("left", "center", "right"))


@pytest.mark.parametrize("kind", ["trajectory", "scatter", "profile", "spectrum"])
def test_the_one_title_of_a_figure_says_that_a_smaller_scale_is_not_comparable(kind, monkeypatch):
    """The title of a figure contains a note if the scale is not comparable.

    A figure in the paper has a caption; a figure file only has the title.
    """
    item = item_of(kind, "micro")
    assert item.caveat == "micro: not comparable"
    drawn = []
    monkeypatch.setattr(figures, "_save", lambda *saved: drawn.append(saved) or [])
    draw_item(item, Path("x.svg"))
    ((figure, *_, title),) = drawn
    assert title == f"{item.item} · micro: not comparable"
    assert not figure.get_suptitle()
    for axes in figure.axes:
        assert "not comparable" not in titles(axes)


@pytest.mark.parametrize("kind", ["profile", "bars"])
def test_two_seeds_are_dots_and_no_interval(kind):
    item = example.few_seeds(DRAWN[kind])
    records = records_of(item)
    cell = item.cells[0]
    assert records[0]["seeds"] == tuple(value.value for value in cell.values)
    assert {(record["low"], record["high"]) for record in records} == {(None, None)}
    drawn = figures.DRAWERS[kind](frame(records))
    assert texts_of(drawn.legends[0].get_texts()) == ["reported", "reproduced", "one seed"]
    pairs = [line.get_xydata() for line in drawn.axes[0].lines if len(line.get_xydata()) == 2]
    values = sorted(value.value for value in cell.values)
    axis = 1 if kind == "profile" else 0
    assert values in [sorted(pair[:, axis]) for pair in pairs]


@pytest.mark.parametrize(("row", "on"), [("τ=1", True), ("10%", True), ("−5", True), ("Fixed 0.1", False)])
def test_rows_that_set_a_number_are_joined(row, on):
    numbers = {"reported": 1.0, "reproduced": 2.0, "low": None, "high": None, "seeds": (), "metric": "m"}
    line = figures.profile(frame([{"row": name, **numbers} for name in ("0.2", row)])).axes[0].lines[0]
    assert math.isnan(line.get_ydata()[1]) == (not on)


@pytest.mark.parametrize("kind", DRAWN)
def test_nothing_is_cut_off(kind):
    import matplotlib

    with matplotlib.rc_context(fname=figures.STYLE):
        drawn = figures.DRAWERS[kind](frame(records_of(item_of(kind))))
        drawn.canvas.draw()
        whole = drawn.get_tightbbox(drawn.canvas.get_renderer())
    width, height = drawn.get_size_inches()
    assert width < 3.4
    assert whole.x0 >= -0.01 and whole.y0 >= -0.01
    assert whole.x1 <= width + 0.01 and whole.y1 <= height + 0.01


PLACE = {
    "alignment": 0.2, "uniformity": -2.0, "source": "reproduced", "step": "final", "selected": "", "seed": "",
}  # fmt: skip


def looks_of(legend):
    """Return a dict from a label to colour and marker."""
    handles = zip(legend.get_texts(), legend.legend_handles, strict=True)
    return {text.get_text(): (handle.get_color(), handle.get_marker()) for text, handle in handles}


def test_a_method_has_one_colour_and_marker_in_every_figure():
    some = ["BERT, VICReg (dropout)", "Delete one word", "BERT, SimCSE"]
    drawn = figures.trajectory(frame([{**PLACE, "method": method} for method in some]))
    others = ["Unsup. SimCSE", "SBERT-base", "Sup. SimCSE", "VICReg"]
    lines = [{"encoder": name, "index": 1, "value": 1.0} for name in others]
    lasts = [line for line in drawn.axes[0].lines if line.get_markeredgecolor() == INK]
    look = {name: (line.get_color(), line.get_marker()) for name, line in zip(some, lasts, strict=True)}
    look |= looks_of(figures.spectrum(frame(lines)).axes[0].get_legend())
    assert look["BERT, SimCSE"] == look["Unsup. SimCSE"] and look["VICReg"] == look["BERT, VICReg (dropout)"]
    assert len({look[name] for name in ("Unsup. SimCSE", "Sup. SimCSE", "SBERT-base", "VICReg")}) == 4
    ridges = [
        {"encoder": "SimCSE", "group": "0-1", "cosine": place / 4, "density": 1.0} for place in range(4)
    ]
    assert figures.density(frame(ridges)).axes[0].lines[0].get_color() == look["Unsup. SimCSE"][0]


@pytest.mark.parametrize("label", [r"$\textsc{cls}$", "a_b^c $x_$", "100% {}"])
def test_labels_of_people_are_text_and_no_formulas(label, tmp_path):
    first, *others = records_of(item_of("bars"))
    records = [{**first, "row": label}, *others]
    draw("bars", records, tmp_path / "table", title=label)


def test_many_encoders_of_a_scatter_have_numbers_and_a_key():
    one = {**PLACE, "metric": "spearman", "seeds": ()}
    records = [
        {**one, "label": f"Encoder {n}", "alignment": 0.2 + n / 500, "score": 70.0 + n} for n in range(10)
    ]
    drawn = figures.scatter(frame([*records, {**records[0], "alignment": 0.9, "source": "other"}]))
    assert texts_of(drawn.axes[0].texts) == list(map(str, range(1, 11)))
    key = texts_of(drawn.legends[0].get_texts())
    assert (key[0], key[9]) == ("1 Encoder 0 (70.0, 70.0)", "10 Encoder 9 (79.0)")
    assert not have_overlap(boxes_of(drawn.axes[0].texts))
    few = figures.scatter(frame(records[:6]))
    assert few.axes[0].texts[5].get_text() == "Encoder 5 (75.0)" and not few.legends


def test_panels_on_their_own_scales_say_so_within_their_height():
    numbers = {"reported": None, "low": None, "high": None, "seeds": (), "metric": "STS-B dev (spearman)"}
    records = []
    for group, place in itertools.product(range(3), range(3)):
        value = 10.0**group + place
        records.append({**numbers, "group": str(group), "row": str(place), "reproduced": value})
    drawn = figures.profile(frame(records))
    drawn.draw_without_rendering()
    labels = boxes_of(axes.yaxis.label for axes in drawn.axes)
    assert "own scale" in drawn.axes[0].get_ylabel()
    assert not have_overlap(labels)


def effects_drawn(values):
    records = [
        {"group": "STS", "row": row, "value": value, "low": None, "high": None}
        for row, value in values.items()
    ]
    (axes,) = figures.effect_plot(frame(records)).axes
    return axes


def test_effects_keep_away_from_the_ends_of_their_axis():
    values = {"a": -9.0, "b": 0.5, "c": 15.0}
    axes = effects_drawn(values)
    places = axes.transData.transform([(value, 0) for value in values.values()])[:, 0]
    assert min(places) > axes.bbox.x0 + 5 and max(places) < axes.bbox.x1 - 5


def test_an_effect_far_beyond_the_others_is_an_arrow_with_its_number():
    """An effect far beyond the others should be an arrow with a number.

    On a symmetric logarithmic axis, 16.6 points were narrower than 7.3 points.
    """
    axes = effects_drawn({"a": -16.6, "b": 4.0, "c": 2.0})
    assert axes.get_xscale() == "linear"
    assert texts_of(axes.texts) == ["\N{MINUS SIGN}16.6"]
    assert -5 < axes.get_xlim()[0] < -4, "as wide as the largest of the others"


def test_methods_that_are_not_listed_take_unused_colours_and_never_black():
    looks = method_looks(["SimCSE", *(f"made up {number}" for number in range(5))])
    colours = [look["color"] for look in looks.values()]
    assert len(set(colours)) == 6 and BLACK not in colours


def test_the_density_of_a_collapsed_encoder_is_a_spike():
    """The density of a collapsed encoder should be a spike.

    At scale micro, all cosines are in the highest bins; the density was once a slope over the whole
    axis.
    """
    records = []
    for place in range(100):
        density = 50.0 * (place == 99)
        records.append({"encoder": "e", "group": "0-1", "cosine": place / 50 - 0.99, "density": density})
    (axes,) = figures.density(frame(records)).axes
    low, high = axes.get_xlim()
    assert high - low > 0.2


def test_the_data_of_a_figure_have_the_groups_of_later_rows(tmp_path):
    """A row of `run --row` is in a group; if the first row was in none, the figure was missing."""
    item = item_of("profile")
    assert not item.rows[0].group
    own = item.rows[-1].replace(group="Your rows")
    draw_item(item.replace(rows=(*item.rows[:-1], own)), tmp_path / "a.svg")
    with (tmp_path / "a.csv").open() as stream:
        assert {row["group"] for row in csv.DictReader(stream)} == {"", "Your rows"}

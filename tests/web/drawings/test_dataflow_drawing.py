"""The drawing of a dataflow: where its boxes are, what is unfolded, and what it says."""

from itertools import combinations

import pytest

from snapshots.domain.model.layers import Link
from snapshots.problems import Refused
from snapshots.web.drawings import dataflow
from snapshots.web.drawings.flow_layout import BOX, Box, place


def draft(vertices: str, edges: str) -> dataflow.Draft:
    """Return a dataflow of vertices, "a*2", and edges, "a-hash-b"."""
    named = [one.split("*") for one in vertices.split()]
    ends = [one.split("-") for one in edges.split()]
    return dataflow.of_document(
        {
            "vertices": [
                {"id": name, "parallelism": int(width[0]) if width else 1} for name, *width in named
            ],
            "edges": [
                {"source": source, "exchange": exchange, "target": target}
                for source, exchange, target in ends
            ],
        }
    )


JOIN = draft(
    "orders*2 rates clean*2 enrich*3 out*3",
    "orders-forward-clean clean-hash-enrich rates-broadcast-enrich enrich-forward-out",
)


def are_apart(one: Box, other: Box) -> bool:
    beside = one.x + one.width <= other.x or other.x + other.width <= one.x
    return beside or one.y + one.height <= other.y or other.y + other.height <= one.y


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("unfolds", [False, True])
def test_pipelines_are_apart_and_no_two_boxes_overlap(down, unfolds):
    flow = draft("a*2 x*4 b c*3 y*4 d", "a-hash-c b-hash-c x-forward-y a-broadcast-d c-hash-d")
    unfolded = dataflow.Unfolded(flow)
    sizes = {
        key: dataflow._frame(unfolded, key, down) if unfolds else BOX for key in unfolded.widths
    }
    layout = place(sizes, flow.links, down=down)
    whole = Box(0, 0, layout.width, layout.height)
    for one, other in combinations(layout.boxes.values(), 2):
        assert are_apart(one, other)
    for box in layout.boxes.values():
        assert min(box.x, box.y) >= 0
        assert box.x + box.width <= whole.width
        assert box.y + box.height <= whole.height
    assert len(layout.pipelines) == 2
    assert are_apart(*layout.pipelines)


def test_an_edge_that_passes_a_layer_goes_beside_what_stands_there():
    layout = place(
        dict.fromkeys(["o", "c", "e"], BOX),
        [Link("a", "o", "c"), Link("b", "c", "e"), Link("p", "o", "e")],
    )
    (bend,) = layout.bends["p"]
    clean = layout.boxes["c"]
    assert bend.x == clean.x
    assert bend.y < clean.y or bend.y > clean.y + clean.height
    assert list(layout.bends) == ["p"]


def test_a_cycle_and_an_edge_to_nowhere_can_be_drawn():
    flow = draft("a b c", "a-hash-b b-hash-c c-hash-b c-hash-nowhere c-hash-c")
    drawing = dataflow.drawing(flow)
    assert drawing["svg"].count('class="flow-vertex"') == 3
    assert drawing["svg"].count('class="flow-edge"') == 3


def test_forward_joins_subtasks_one_to_one_and_the_others_all_to_all():
    unfolded = dataflow.Unfolded(JOIN)
    found = [
        [f"{source}{target}" for edge, source, target in unfolded.channels if edge == link]
        for link in JOIN.links
    ]
    assert found[:3] == [["00", "11"], ["00", "01", "02", "10", "11", "12"], ["00", "01", "02"]]
    assert (unfolded.channel_total, len(unfolded.channels)) == (14, 14)
    words = "4 layers, 1 pipeline, 11 subtasks, 14 channels."
    assert dataflow.drawing(JOIN, unfolds=True)["words"] == words


def test_some_of_very_many_subtasks_and_channels_are_drawn_and_all_are_counted():
    flow = draft("a*1000 b*900 c*2", "a-hash-b b-hash-c")
    unfolded = dataflow.Unfolded(flow)
    assert list(unfolded.shown.values()) == [99, 99, 2]
    assert unfolded.channel_total == 901_800
    assert len(unfolded.channels) == dataflow.MOST_CHANNELS
    assert (
        "1,702 subtasks and 900,800 channels are not drawn."
        in dataflow.drawing(flow, unfolds=True)["words"]
    )


def test_a_dataflow_that_fits_is_drawn_whole():
    unfolded = dataflow.Unfolded(draft("a*100 b*100", "a-forward-b"))
    assert list(unfolded.shown.values()) == [100, 100]
    assert len(unfolded.channels) == unfolded.channel_total == 100


def test_too_many_vertices_are_not_drawn_and_said():
    drawing = dataflow.drawing(draft(" ".join(f"v{n}" for n in range(201)), ""))
    assert drawing == {
        "words": "201 vertices are too many to draw (the most is 200): read them in the tables."
    }


@pytest.mark.parametrize(
    ("typed", "width"),
    [("3", 3), (" 4 ", 4), ("two", 1), ("0", 1), ("2.5", 1), ("1e3", 1000), ("1e999", 1)],
)
def test_what_is_no_number_of_subtasks_is_drawn_as_one(typed, width):
    vertex = {"key": "v0", "id": "a", "kind": "source", "function": "map", "sink": "plain"}
    found = dataflow.read({"vertices": [vertex | {"parallelism": typed}], "edges": []})
    assert found.vertices[0].width == width


def test_what_was_typed_is_escaped():
    svg = dataflow.drawing(draft("<b>&", ""))["svg"]
    assert "<b>" not in svg
    assert "&lt;b&gt;&amp;" in svg


@pytest.mark.parametrize("document", [None, [], {"vertices": [3], "edges": []}, {"vertices": []}])
def test_a_damaged_draft_is_refused(document):
    with pytest.raises(Refused):
        dataflow.read(document)


def test_names_of_subtasks_are_offered_of_each_vertex_as_many():
    names = dataflow.subtask_names(draft("a*1000 b*2", ""))
    assert names[-2:] == ["b[0]", "b[1]"]
    assert len(names) == 500

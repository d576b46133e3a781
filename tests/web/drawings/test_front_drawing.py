"""The drawing of a barrier front."""

from snapshots.web.drawings import front

VERTEX = {"name": "map", "status": "started", "role": "", "reason": "It works.", "busy": 0.5}
VERTEX |= {"acknowledged": 1, "parallelism": 2, "back_pressured": None}
EDGE = {"source": "a", "target": "b", "ship": "HASH", "is_front": True}


def test_a_vertex_says_how_many_have_acknowledged_and_a_question_mark_what_is_not_known():
    assert front.words(VERTEX) == "1/2 started"
    unknown = {"status": "not known", "acknowledged": None, "parallelism": None}
    assert front.words(unknown) == "?/? not known"


def test_several_edges_between_two_vertices_are_drawn_as_one():
    poll = {"vertices": [VERTEX | {"id": "a"}, VERTEX | {"id": "b"}], "edges": [EDGE, EDGE]}
    svg = front.drawing(poll, down=False)
    assert svg.count('class="front-edge is-front"') == 1
    assert "<title>HASH</title>" in svg
    assert "Busy: 50 %; back-pressured: not known." in svg


def test_without_vertices_and_with_too_many_nothing_is_drawn():
    assert front.drawing({"vertices": [], "edges": []}, down=False) is None
    many = [VERTEX | {"id": str(number)} for number in range(101)]
    assert front.drawing({"vertices": many, "edges": []}, down=True) is None

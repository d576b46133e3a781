"""The maps of a checkpoint's bytes: sizes, colours, words, and what can be opened."""

import json

from snapshots.web.figures import byte_maps

SECTORS = {
    "ids": ["a", "a/keyed", "a/keyed/new", "a/keyed/old", "b", "b/0", "b/1"],
    "labels": ["<a>", "keyed state", "new", "taken over", "b", "x", "y"],
    "parents": ["root", "a", "a/keyed", "a/keyed", "root", "b", "b"],
    "values": [1500, 1500, 1000, 500, 30, 10, 20],
    "kinds": ["operator", "part", "new", "old", "operator", "state", "state"],
    "before": [1500, None, None, None, 25, 10, None],
}


def test_the_root_is_as_large_as_its_operators_and_no_name_is_markup():
    figure = byte_maps.figure(SECTORS, "root")
    [trace] = figure["data"]
    assert (trace["ids"][0], trace["values"][0], trace["text"][0]) == ("root", 1530, "1.53 kB")
    assert trace["labels"][1] == "&lt;a&gt;"
    assert trace["parents"][0] == ""
    json.dumps(figure)


def test_a_sector_in_which_others_lie_is_quiet_and_an_unknown_size_before_is_no_growth():
    kinds = [byte_maps.kind_of(SECTORS, place) for place in range(7)]
    assert kinds == ["group", "group", "new", "old", "group", "same", "unknown"]
    changed = SECTORS | {"before": [None, None, None, None, None, 4, 90]}
    assert [byte_maps.kind_of(changed, place) for place in (5, 6)] == ["grew", "shrank"]


def test_a_sector_says_in_words_what_its_colour_says():
    words = byte_maps.figure(SECTORS, "root")["data"][0]["customdata"]
    assert words[3] == "new with this checkpoint"
    assert words[5] == "+5 B since the checkpoint before"
    assert words[6] == "as before"
    assert words[7] == "it is not known how much was there before"


def test_what_has_parts_can_be_opened_and_is_named_with_what_is_around_it():
    assert byte_maps.levels(SECTORS, "root") == [
        ("root", "all"),
        ("a", "<a>"),
        ("a/keyed", "<a> › keyed state"),
        ("b", "b"),
    ]

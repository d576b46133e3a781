"""The themes and widths in which pages are pictured: two always, all four when run by hand."""

import pytest

LOOKS = [
    ("light", 1280),
    ("dark", 390),
    pytest.param("dark", 1280, marks=pytest.mark.long),
    pytest.param("light", 390, marks=pytest.mark.long),
]

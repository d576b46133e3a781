"""Parameters that several calls share; all numbers are bounded."""

from typing import Annotated

from ninja import Query

MOST_INT = 2**63 - 1
MOST_LISTED = 500

Offset = Annotated[int, Query(0, ge=0, le=MOST_INT, description="how many to skip")]
Limit = Annotated[int, Query(100, ge=1, le=MOST_LISTED, description="how many at most")]

"""Say of each thing that can run out how much is used, when it ends, and what to do.

The operator's page, the API and the metrics show ``every()``, the first to end first.
"""

from webapp.operating.supplies.gathering import every, headline
from webapp.operating.supplies.model import Supply

__all__ = ["Supply", "every", "headline"]

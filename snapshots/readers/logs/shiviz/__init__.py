"""Text logs with vector clocks, as ShiViz, TSViz and GoVector have them."""

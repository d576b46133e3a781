"""Documents that leave the house: a review or notes, with claims that a reader can check."""

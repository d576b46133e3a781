"""Reviews: notes at places of recordings and archived jobs, and the trail of who looks around."""

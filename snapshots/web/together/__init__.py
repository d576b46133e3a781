"""People who look at the same recording at the same time: who is here, and who presents."""

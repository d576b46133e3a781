"""What the tasks and the coordinator of a dataflow do at each moment, told from its log."""

"""What a task of Flink does with each barrier, as a path through a flow chart."""

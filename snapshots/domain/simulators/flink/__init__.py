"""Dataflows: their graph, and the simulator that runs them under Flink's protocol."""

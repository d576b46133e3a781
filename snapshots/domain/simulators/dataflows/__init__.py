"""What the simulated dataflows of all engines share: records, channels, tasks, counting."""

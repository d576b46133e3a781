"""What a recording is: processes, channels, events, messages, snapshots."""

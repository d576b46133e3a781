"""What Flink's REST API and History Server answer."""

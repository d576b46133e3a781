"""What a log tells of failures: who was restarted, what was repeated and what was lost."""

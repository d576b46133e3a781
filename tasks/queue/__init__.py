"""What Celery's workers do: run jobs, sweep, collect, and note in Redis that they are alive."""

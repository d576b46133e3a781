"""What Celery's workers do: take jobs, sweep, collect, say that they live."""

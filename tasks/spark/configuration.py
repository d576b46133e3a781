"""Read the settings of the Spark sessions."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def setting(name: str, default: str) -> str:
    """Return a setting of Django if Django runs, else the environment variable of that name."""
    try:
        from django.conf import settings
    except ImportError:
        return os.environ.get(name) or default
    if settings.configured and hasattr(settings, name):
        return str(getattr(settings, name))
    return os.environ.get(name) or default


def start_seconds() -> float:
    """Return how many seconds Spark may take to start."""
    return float(setting("SPARK_START_SECONDS", "120"))

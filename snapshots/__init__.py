"""Record, check, replay and restore global snapshots of distributed systems.

``readers`` turn bytes into a recording.
``domain`` says what is true of it.
``store`` keeps it.
``services`` take a request.
``jobs`` do the work, with ``tasks``.
``answers`` read what is stored.
``web`` shows it.
"""

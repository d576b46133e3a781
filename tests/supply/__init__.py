"""What Cutline is built from: its requirements, their lock, licences and known vulnerabilities.

``make lock`` writes the locks, the page docs/dependencies.md and the bill of materials.
``make check`` holds them against each other, as ``python -m tests.supply.check`` does.
"""

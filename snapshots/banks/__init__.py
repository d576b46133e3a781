"""Banks that send each other money: a running system to try Cutline with.

``bank`` is one process of it, ``system`` starts, kills and restores all of them, and ``server``
talks to a running Cutline. All use the recorder and nothing else of Cutline, as a service of
somebody else would.
"""

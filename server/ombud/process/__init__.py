"""Children: start them, own their process groups, read their stderr, measure them, end them. Knows no protocol.

POSIX first. What Windows does differently (groups, signals, handles) is confined to ``group.py`` and ``guardian.py``,
where a job object per hub with "kill on close" would take the place of both the process group and the guardian.
"""

"""The guard: the only way to turn an outside string into a path, an executable or a line of a log.

``fence`` contains paths, ``sensitive`` names those that are refused inside as well, ``redact`` keeps secrets out of
what is shown, ``trust`` and ``tiers`` say what may run, ``commands`` finds an absolute executable, ``uris``
translates.
"""

"""Every key of a script with its default, and how a script is read.

A *trigger* is a method name (every message of that method) or ``{"method", "nth"}`` (the nth one, from 1). Where a
key takes triggers it takes one or a list of them. Times are milliseconds unless the key says otherwise.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULTS: dict[str, Any] = {
    # -- who it is and what it announces
    "name": "scripted",
    "version": "1.0",
    "features": None,  # list of words of scripted/features.py, None: its DEFAULT set, "all": all of them
    "capabilities": {},  # laid over the announced ones, key by key; null takes one away
    "sync": 2,  # textDocumentSync.change
    "save": True,  # false | true | "text" (includeText)
    "answers": {},  # method -> result, in place of what the server would answer by its own rules
    "commands": None,  # None: <name>.state, <name>.echo, <name>.applyEdit
    "completions": [],  # labels offered beside the words of the open documents
    "positionEncoding": None,
    # -- diagnostics: scripted/diagnostics.py
    "diagnostics": "push",  # "push" | "pull" | "pullDynamic" | "auto" | "both" | "none"
    "versioned": True,
    "publishes": 1,  # 2: syntax errors first, everything after delayMs
    "publishOn": ["open", "change", "save"],  # also "close" (publishes an empty list) and "watched"
    "delayMs": 0,
    "stale": False,  # a delayed publish is sent although the document has changed since, with its old contents
    "silentWhenClean": False,
    "pushCodes": None,  # with "both": these codes are only pushed and all others only pulled
    "pullError": None,  # {code, message, data?, times?}: the first pulls are refused
    "workspacePull": False,
    "source": None,  # None: the name
    "project": None,  # file names: USES(file word) is checked, these files are published also when nobody has them open
    "projectDelayMs": 0,  # until other files than the one that was touched are published
    # -- what it asks of its client
    "askConfiguration": [],  # sections asked for after initialized
    "nullConfigurationSilent": False,  # no diagnostics before, or ever after a null, configuration answer
    "watch": [],  # glob patterns to register for workspace/didChangeWatchedFiles
    "requestsOnInitialized": [],  # method or {method, params}
    "requestsOn": {},  # method -> such a list, sent when that method arrives and before it is answered
    "unknownMethods": False,
    "progressMs": 0,  # between begin and end of the progress that window/workDoneProgress/create starts
    # -- the wire
    "banner": None,  # text (or {"text", "repeat"}) before the first frame
    "junkBetween": None,  # text before every later frame
    "headerFormat": "Content-Length: {length}\r\n\r\n",
    "chunk": 0,  # bytes a write
    "surrogates": False,
    "rawOn": {},  # method -> text written as it stands in place of the answer
    "bigAnswer": 0,  # bytes of padding in a hover's contents, or {method: bytes}
    # -- misbehaviour
    "errorsOn": {},  # method -> {code, message, data?, nth?}
    "crashOn": [],  # {method, nth: 1, exitCode: 1, stderr, when: "before" | "midFrame" | "after", signal}
    "hangOn": [],  # triggers: never answered
    "freezeOn": [],  # triggers: from then on nothing is read, nothing is written, the process lives
    "slow": {},  # method -> ms until its answer; others are answered in between
    "slowFound": 0,  # ms until the answer to a pull that has found something
    "busy": {},  # method -> ms in which nothing at all is done
    "floodOn": [],  # {method, nth?, count, notification}: notifications written before the answer
    "reorder": 0,  # answers are held until there are so many and then sent in reverse
    "answerTwice": False,  # true or triggers
    "wrongIds": None,  # "also" | "instead" | "asString"
    "lateAnswerAfterCancel": None,  # ms: a cancelled request is answered with its result, so much later
    "ignoreCancel": False,
    "startDelayMs": 0,
    "refuseInitialize": None,  # message
    "dieBeforeInitialize": None,  # {stderr, code}
    "ignoreShutdown": False,
    "ignoreExit": False,
    "ignoreSigterm": False,
    "ignoreEof": False,
    "exitCode": None,
    "exitDelayMs": 0,
    "stderr": None,  # text at start
    "stderrFlood": 0,  # bytes at start
    "spawn": [],  # true: two children, one with setsid; or {setsid, ignoreSigterm, holdPipes} each
    "rssMb": 0,
    # -- book-keeping
    "log": None,  # file for one JSON object a line: scripted/recorder.py
    "perStart": [],  # script keys laid over for the 1st, 2nd … start counted in the log; the last one stays
    "maxLifetimeS": 300,  # it ends by itself then, whatever it was told to ignore
}


class ScriptError(Exception):
    """The script cannot be followed; the message says why."""


def load(argv: list[str]) -> dict[str, Any]:
    """The script of a command line, complete with defaults; what follows it (``--stdio``) is left alone.

    Raises ``ScriptError``.
    """
    try:
        if argv[:1] == ["--script"]:
            with open(argv[1] if len(argv) > 1 else "", encoding="utf-8") as file:
                given = json.load(file)
        else:
            given = json.loads(argv[0]) if argv else {}
    except (OSError, ValueError) as problem:
        raise ScriptError(str(problem)) from problem
    script = complete(given)
    if script["perStart"]:
        script |= _of_this_start(script)
    return script


def complete(given: Any) -> dict[str, Any]:
    """``given`` over the defaults. Raises ``ScriptError`` for a key that does not exist."""
    if not isinstance(given, dict):
        raise ScriptError("a script is a JSON object")
    for stated in (given, *given.get("perStart", [])):
        unknown = sorted(stated.keys() - DEFAULTS.keys())
        if unknown:
            raise ScriptError(f"unknown keys {unknown}")
    return {**DEFAULTS, **given}


def _of_this_start(script: dict[str, Any]) -> dict[str, Any]:
    if not script["log"]:
        raise ScriptError("perStart counts the starts in the log: it needs one")
    starts = 0
    try:
        with open(script["log"], encoding="utf-8") as log:
            starts = sum(1 for line in log if json.loads(line).get("event") == "start")
    except FileNotFoundError:
        starts = 0
    overrides: dict[str, Any] = script["perStart"][min(starts, len(script["perStart"]) - 1)]
    return overrides


def fires(triggers: Any, method: str, nth: int, default_nth: int | None = None) -> dict[str, Any] | None:
    """The first trigger that the ``nth`` message of ``method`` sets off, as an object; None when none does."""
    if triggers is True:
        return {"method": method}
    for trigger in triggers if isinstance(triggers, list) else [triggers] if triggers else []:
        stated = {"method": trigger} if isinstance(trigger, str) else trigger
        if stated["method"] == method and stated.get("nth", default_nth) in (None, nth):
            return dict(stated)
    return None

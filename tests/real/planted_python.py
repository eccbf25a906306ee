"""Planted edits in Python: basedpyright, which knows the whole project, and ruff, which looks at one file at a time."""

from __future__ import annotations

from tests.real.planted import DISK, SETTINGS, Case, Step, Wrong, edit, patched, write

_HAIL = '''"""Who is on board."""

from harbour.berths import Ship

{}
def hail(ship: Ship) -> str:
    """What is called to a ship."""
    return "Ahoy, " + ship.name
{}'''
_LEN = 'Argument of type "Literal[5]"'
_ONE = {"harbour/crew.py": _HAIL.format("", "\n\nlen(5)\n")}
_TWO = {"harbour/crew.py": _HAIL.format("len(5)\n\n", "\n\nlen(5)\n")}
_TIDE = ("berth_length: int)", "berth_length: int, tide: int)")
_MISSING = 'Argument missing for parameter "tide"'
_PILOT = '''"""Who brings ships in."""

from harbour.berths import Ship, fits


def free(ship: Ship) -> bool:
    """Whether the quay is long enough."""
    return fits(ship, {})
'''
_NAMED = ("berths[name])", "ship.name)")
_NOT_INT = Wrong("harbour/plan.py", 8, "reportArgumentType", 'Argument of type "str"')
_LONGEST = '''

def longest(ships: list[Ship]) -> Ship:
    """The longest of the ships."""
    return max(ships, key=lambda ship: ship.length)
'''
_NO_PILOT = '''"""Who is on board."""

from harbour.pilot import free

print(free)
'''


def _basedpyright(kind: str, *steps: Step, **more: object) -> Case:
    return Case(kind, "basedpyright", steps, **more)  # type: ignore[arg-type]


_SIGNATURE = Step(
    edit("harbour/berths.py", _TIDE),
    introduced=(
        Wrong("harbour/office.py", 9, "reportCallIssue", _MISSING),
        Wrong("harbour/plan.py", 8, "reportCallIssue", _MISSING),
    ),
    checked=("harbour/office.py", "harbour/plan.py"),
)

BASEDPYRIGHT = (
    _basedpyright("signature change", _SIGNATURE),
    _basedpyright("signature change, the file is open", _SIGNATURE, open=("harbour/berths.py",)),
    _basedpyright("signature change, a dependent is open", _SIGNATURE, open=("harbour/plan.py",)),
    _basedpyright(
        "deleted export",
        Step(
            edit("harbour/berths.py", (_LONGEST, "")),
            introduced=(
                Wrong("harbour/fleet.py", 3, "reportAttributeAccessIssue", '"longest" is unknown import symbol'),
            ),
            checked=("harbour/fleet.py",),
        ),
    ),
    _basedpyright(
        "a rename that missed a re-export",
        Step(
            patched(
                {
                    "harbour/berths.py": (("def longest(", "def biggest("),),
                    "harbour/fleet.py": (("import Ship, longest", "import Ship, biggest"), ("longest(s", "biggest(s")),
                }
            ),
            introduced=(
                Wrong("harbour/__init__.py", 3, "reportAttributeAccessIssue", '"longest" is unknown import symbol'),
            ),
            checked=("harbour/__init__.py",),
        ),
        files={
            "harbour/__init__.py": '"""A harbour."""\n\nfrom harbour.berths import longest\n\n__all__ = ["longest"]\n'
        },
    ),
    _basedpyright(
        "renamed field",
        Step(
            edit("harbour/berths.py", ("    length: int\n", "    metres: int\n")),
            introduced=(
                Wrong("harbour/berths.py", 16, "reportAttributeAccessIssue", 'Cannot access attribute "length"'),
                Wrong("harbour/berths.py", 21, "reportAttributeAccessIssue", 'Cannot access attribute "length"'),
                Wrong("harbour/tariff.py", 8, "reportAttributeAccessIssue", 'Cannot access attribute "length"'),
            ),
            checked=("harbour/tariff.py",),
        ),
    ),
    _basedpyright(
        "second identical error",
        Step(
            edit("harbour/crew.py", ("import Ship\n\n", "import Ship\n\nlen(5)\n")),
            introduced=(Wrong("harbour/crew.py", 5, "reportArgumentType", _LEN),),
            still=1,
        ),
        files=_ONE,
    ),
    _basedpyright(
        "shift by ten lines",
        Step(edit("harbour/crew.py", ("import Ship\n", "import Ship\n" + "\n" * 10)), still=1),
        files=_ONE,
    ),
    _basedpyright(
        "fix one of two",
        Step(
            edit("harbour/crew.py", ("len(5)\n\n\ndef", "\n\ndef")),
            resolved=(Wrong("harbour/crew.py", 5, "reportArgumentType", _LEN),),
            still=1,
        ),
        files=_TWO,
    ),
    _basedpyright(
        "break, fix, break",
        Step(edit("harbour/plan.py", _NAMED), introduced=(_NOT_INT,)),
        Step(edit("harbour/plan.py", _NAMED[::-1]), resolved=(_NOT_INT,)),
        Step(edit("harbour/plan.py", _NAMED), introduced=(_NOT_INT,)),
    ),
    _basedpyright(
        "error in a dependent only",
        Step(
            edit("harbour/tariff.py", ("-> int:", "-> str:"), ("ship.length * days * 12", "ship.name * days")),
            introduced=(Wrong("harbour/office.py", 9, "reportOperatorIssue", 'Operator "+" not supported'),),
            checked=("harbour/office.py",),
        ),
    ),
    _basedpyright(
        "change of a config file",
        Step(
            edit("pyproject.toml", ('"standard"\n', '"standard"\nreportMissingParameterType = "error"\n')),
            introduced=(Wrong("harbour/crew.py", 6, "reportMissingParameterType", 'missing for parameter "loud"'),),
            checked=("harbour/crew.py",),
            unseen=SETTINGS,
        ),
        files={"harbour/crew.py": _HAIL.format("", "").replace("ship: Ship)", "ship: Ship, loud=False)")},
    ),
    _basedpyright(
        "new file",
        Step(
            write("harbour/pilot.py", _PILOT.format('"40"')),
            introduced=(Wrong("harbour/pilot.py", 8, "reportArgumentType", '''Argument of type "Literal['40']"'''),),
        ),
    ),
    _basedpyright(
        "new file that was missed",
        Step(
            write("harbour/pilot.py", _PILOT.format("40")),
            resolved=(
                Wrong("harbour/crew.py", 3, "reportMissingImports", 'Import "harbour.pilot" could not be resolved'),
            ),
            checked=("harbour/crew.py",),
            unseen=DISK,
        ),
        files={"harbour/crew.py": _NO_PILOT},
        known=("harbour/crew.py",),
    ),
    _basedpyright(
        "deleted file",
        Step(
            patched({"harbour/tariff.py": None}),
            introduced=(
                Wrong("harbour/office.py", 4, "reportMissingImports", 'Import "harbour.tariff" could not be resolved'),
            ),
            checked=("harbour/office.py",),
            unseen=DISK,
        ),
    ),
    _basedpyright(
        "patch over five files",
        Step(
            patched(
                {
                    "harbour/berths.py": (_TIDE,),
                    "harbour/plan.py": (("berths[name])", "berths[name], 2)"),),
                    "harbour/tariff.py": (("ship.length * days", "ship.lenght * days"),),
                    "harbour/fleet.py": (("longest\n", "longest\n" + "\n" * 10),),
                    "harbour/crew.py": (("import Ship\n\n", "import Ship\n\nlen(5)\n"),),
                }
            ),
            introduced=(
                Wrong("harbour/crew.py", 5, "reportArgumentType", _LEN),
                Wrong("harbour/office.py", 9, "reportCallIssue", _MISSING),
                Wrong("harbour/tariff.py", 8, "reportAttributeAccessIssue", 'Cannot access attribute "lenght"'),
            ),
            still=1,
            checked=("harbour/office.py",),
        ),
        files=_ONE,
    ),
)


def _undefined(line: int, name: str = "moor", path: str = "harbour/crew.py") -> Wrong:
    return Wrong(path, line, "F821", f"Undefined name `{name}`")


def _ruff(kind: str, *steps: Step, **more: object) -> Case:
    return Case(kind, "ruff", steps, **more)  # type: ignore[arg-type]


_MOOR_ONE = {"harbour/crew.py": _HAIL.format("", "\n\nprint(moor)\n")}
_MOOR_TWO = {"harbour/crew.py": _HAIL.format("print(moor)\n\n", "\n\nprint(moor)\n")}
_CALLED = "\n\nKNOTS = 12\n\n\ndef speed() -> int:\n    return KNOTS\n\n\nprint(speed())\nprint(speed(), KNOTS)\n"
_SHIPS = ("fits(ship, berths[name])", "fits(ships, berths[name])")
_NO_SHIPS = _undefined(8, "ships", "harbour/plan.py")

_BELOW = ('board."""\n', 'board."""\n' + "\n" * 10)

RUFF = (
    _ruff(
        "signature change",
        Step(
            edit("harbour/tariff.py", ("ship: Ship, days: int", "ship: Ship")),
            introduced=(_undefined(8, "days", "harbour/tariff.py"),),
        ),
    ),
    _ruff(
        "deleted export",
        Step(
            edit("harbour/crew.py", ("def speed() -> int:\n    return KNOTS\n\n\n", "")),
            introduced=(_undefined(14, "speed"), _undefined(15, "speed")),
        ),
        files={"harbour/crew.py": _HAIL.format("", _CALLED)},
    ),
    _ruff(
        "renamed constant",
        Step(
            edit("harbour/crew.py", ("KNOTS = 12", "MILES = 12")),
            introduced=(_undefined(15, "KNOTS"), _undefined(19, "KNOTS")),
        ),
        files={"harbour/crew.py": _HAIL.format("", _CALLED)},
    ),
    _ruff(
        "second identical error",
        Step(
            edit("harbour/crew.py", ("import Ship\n\n", "import Ship\n\nprint(moor)\n")),
            introduced=(_undefined(5),),
            still=1,
        ),
        files=_MOOR_ONE,
    ),
    _ruff(
        "second identical error, the file is open",
        Step(
            edit("harbour/crew.py", ("import Ship\n\n", "import Ship\n\nprint(moor)\n")),
            introduced=(_undefined(5),),
            still=1,
        ),
        files=_MOOR_ONE,
        open=("harbour/crew.py",),
    ),
    _ruff(
        "shift by ten lines",
        Step(edit("harbour/crew.py", _BELOW), still=1),
        files=_MOOR_ONE,
    ),
    _ruff(
        "fix one of two",
        Step(edit("harbour/crew.py", ("print(moor)\n\n\ndef", "\ndef")), resolved=(_undefined(5),), still=1),
        files=_MOOR_TWO,
    ),
    _ruff(
        "break, fix, break",
        Step(edit("harbour/plan.py", _SHIPS), introduced=(_NO_SHIPS,)),
        Step(edit("harbour/plan.py", _SHIPS[::-1]), resolved=(_NO_SHIPS,)),
        Step(edit("harbour/plan.py", _SHIPS), introduced=(_NO_SHIPS,)),
    ),
    _ruff(
        "change of a config file",
        Step(
            edit("pyproject.toml", ('"py311"\n', '"py311"\n\n[tool.ruff.lint]\nselect = ["F", "T20"]\n')),
            introduced=(Wrong("harbour/crew.py", 11, "T201", "`print` found", "warning"),),
            still=1,
            checked=("harbour/crew.py",),
            unseen=SETTINGS,
        ),
        files=_MOOR_ONE,
    ),
    _ruff(
        "new file",
        Step(
            write("harbour/pilot.py", '"""Who brings ships in."""\n\nimport os\n\nprint(moor)\n'),
            introduced=(
                Wrong("harbour/pilot.py", 3, "F401", "`os` imported but unused", "warning"),
                _undefined(5, path="harbour/pilot.py"),
            ),
        ),
    ),
    _ruff(
        "deleted file",
        Step(patched({"harbour/crew.py": None}), resolved=(_undefined(11),)),
        files=_MOOR_ONE,
    ),
    _ruff(
        "patch over five files",
        Step(
            patched(
                {
                    "harbour/berths.py": (("return ship.length < berth", "return ships.length < berth"),),
                    "harbour/plan.py": (_SHIPS,),
                    "harbour/tariff.py": (("return ship.length", "return boat.length"),),
                    "harbour/fleet.py": (_BELOW,),
                    "harbour/crew.py": (("print(moor)\n", ""),),
                }
            ),
            introduced=(
                _undefined(16, "ships", "harbour/berths.py"),
                _NO_SHIPS,
                _undefined(8, "boat", "harbour/tariff.py"),
            ),
            resolved=(_undefined(11),),
            still=1,
        ),
        files={**_MOOR_ONE, "harbour/fleet.py": '"""Who is on board."""\n\nprint(fleet)\n'},
    ),
)

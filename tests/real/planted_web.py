"""Planted edits in TypeScript for the two servers that know the whole project, and in JavaScript for ESLint."""

from __future__ import annotations

from tests.real.planted import DISK, SETTINGS, Case, Step, Wrong, edit, patched, write

_BAD = "export const {}: number = 'x';\n"
_TYPE = "Type 'string' is not assignable to type 'number'"
_HAIL = """import type {{ Ship }} from "./berths";

{}/** What is called to a ship. */
export function hail(ship: Ship): string {{
  return "Ahoy, " + ship.name;
}}
{}"""
_ONE = {"src/crew.ts": _HAIL.format("", "\n" + _BAD.format("low"))}
_TWO = {"src/crew.ts": _HAIL.format(_BAD.format("high") + "\n", "\n" + _BAD.format("low"))}
_ABOVE = ('"./berths";\n\n', '"./berths";\n\n' + _BAD.format("high") + "\n")
_TIDE = ("berthLength: number)", "berthLength: number, tide: number)")
_MISSING = "Expected 3 arguments, but got 2"
_LONGEST = """
/** The longest of the ships. */
export function longest(ships: readonly Ship[]): Ship | undefined {
  return [...ships].sort((a, b) => b.length - a.length)[0];
}
"""
_NO_FIELD = "Property 'length' does not exist on type 'Ship'"
_NAMED = ("fits(ship, length)", "fits(ship, ship.name)")
_NOT_NUMBER = Wrong(
    "src/plan.ts", 5, "2345", "Argument of type 'string' is not assignable to parameter of type 'number'"
)
_PILOT = """import {{ fits, type Ship }} from "./berths";

/** Whether the quay is long enough. */
export function free(ship: Ship): boolean {{
  return fits(ship, {});
}}
"""
_LOUD = """/** What is called to a ship. */
export function hail(name: string) {
  if (name) return "Ahoy, " + name;
}
"""


def _typescript(server: str, *, overlays: bool, style: str) -> tuple[Case, ...]:
    """``overlays``: a file that is open in the server and not on the disk can be imported all the same.

    ``style`` is the severity of what TypeScript has an option for.
    """

    def case(kind: str, *steps: Step, **more: object) -> Case:
        return Case(kind, server, steps, **more)  # type: ignore[arg-type]

    signature = Step(
        edit("src/berths.ts", _TIDE),
        introduced=(Wrong("src/office.ts", 6, "2554", _MISSING), Wrong("src/plan.ts", 5, "2554", _MISSING)),
        checked=("src/office.ts", "src/plan.ts"),
    )
    return (
        case("signature change", signature),
        case("signature change, the file is open", signature, open=("src/berths.ts",)),
        case("signature change, a dependent is open", signature, open=("src/office.ts",)),
        case(
            "deleted export",
            Step(
                edit("src/berths.ts", (_LONGEST, "")),
                introduced=(Wrong("src/fleet.ts", 1, "2305", """has no exported member 'longest'"""),),
                checked=("src/fleet.ts",),
            ),
        ),
        case(
            "a rename that missed a re-export",
            Step(
                patched(
                    {
                        "src/berths.ts": (("function longest(", "function biggest("),),
                        "src/fleet.ts": (
                            ("import { longest,", "import { biggest,"),
                            ("longest(ships)", "biggest(ships)"),
                        ),
                    }
                ),
                introduced=(Wrong("src/index.ts", 1, "2305", """has no exported member 'longest'"""),),
                checked=("src/index.ts",),
            ),
            files={"src/index.ts": 'export { longest } from "./berths";\n'},
        ),
        case(
            "renamed field",
            Step(
                edit("src/berths.ts", ("  length: number;\n", "  metres: number;\n")),
                introduced=(
                    Wrong("src/berths.ts", 9, "2339", _NO_FIELD),
                    Wrong("src/berths.ts", 14, "2339", _NO_FIELD),
                    Wrong("src/berths.ts", 14, "2339", _NO_FIELD),
                    Wrong("src/tariff.ts", 5, "2339", _NO_FIELD),
                ),
                checked=("src/tariff.ts",),
            ),
        ),
        case(
            "second identical error",
            Step(edit("src/crew.ts", _ABOVE), introduced=(Wrong("src/crew.ts", 3, "2322", _TYPE),), still=1),
            files=_ONE,
        ),
        case(
            "shift by ten lines",
            Step(edit("src/crew.ts", ('"./berths";\n', '"./berths";\n' + "\n" * 10)), still=1),
            files=_ONE,
        ),
        case(
            "fix one of two",
            Step(edit("src/crew.ts", _ABOVE[::-1]), resolved=(Wrong("src/crew.ts", 3, "2322", _TYPE),), still=1),
            files=_TWO,
        ),
        case(
            "break, fix, break",
            Step(edit("src/plan.ts", _NAMED), introduced=(_NOT_NUMBER,)),
            Step(edit("src/plan.ts", _NAMED[::-1]), resolved=(_NOT_NUMBER,)),
            Step(edit("src/plan.ts", _NAMED), introduced=(_NOT_NUMBER,)),
        ),
        case(
            "error in a dependent only",
            Step(
                edit("src/tariff.ts", ("days: number): number", "days: number): string"), ("* 12;", "+ ship.name;")),
                introduced=(Wrong("src/office.ts", 6, "2362", "The left-hand side of an arithmetic operation"),),
                checked=("src/office.ts",),
            ),
        ),
        case(
            "change of a config file",
            Step(
                edit("tsconfig.json", ('"strict": true,', '"strict": true,\n    "noImplicitReturns": true,')),
                introduced=(Wrong("src/crew.ts", 2, "7030", "Not all code paths return a value", style),),
                checked=("src/crew.ts",),
                unseen=SETTINGS,
            ),
            files={"src/crew.ts": _LOUD},
        ),
        case(
            "new file",
            Step(
                write("src/pilot.ts", _PILOT.format('"40"')),
                introduced=(Wrong("src/pilot.ts", 5, "2345", "Argument of type 'string' is not assignable"),),
            ),
        ),
        case(
            "new file that was missed",
            Step(
                write("src/pilot.ts", _PILOT.format("40")),
                resolved=(Wrong("src/crew.ts", 1, "2307", "Cannot find module './pilot'"),),
                checked=("src/crew.ts",),
                unseen=None if overlays else DISK,
            ),
            files={"src/crew.ts": 'export { free } from "./pilot";\n'},
            known=("src/crew.ts",),
        ),
        case(
            "deleted file",
            Step(
                patched({"src/tariff.ts": None}),
                introduced=(Wrong("src/office.ts", 2, "2307", "Cannot find module './tariff'"),),
                checked=("src/office.ts",),
                unseen=DISK,
            ),
        ),
        case(
            "patch over five files",
            Step(
                patched(
                    {
                        "src/berths.ts": (_TIDE,),
                        "src/plan.ts": (("fits(ship, length)", "fits(ship, length, 2)"),),
                        "src/tariff.ts": (("return ship.length", "return ship.depth"),),
                        "src/fleet.ts": (('"./berths";\n', '"./berths";\n' + "\n" * 10),),
                        "src/crew.ts": (_ABOVE,),
                    }
                ),
                introduced=(
                    Wrong("src/crew.ts", 3, "2322", _TYPE),
                    Wrong("src/office.ts", 6, "2554", _MISSING),
                    Wrong("src/tariff.ts", 5, "2339", "Property 'depth' does not exist on type 'Ship'"),
                ),
                still=1,
                checked=("src/office.ts",),
            ),
            files=_ONE,
        ),
    )


TSGO = _typescript("tsgo", overlays=True, style="warning")
TLS = _typescript("typescript-language-server", overlays=False, style="error")


def _eslint(kind: str, *steps: Step, **more: object) -> Case:
    return Case(kind, "eslint", steps, **more)  # type: ignore[arg-type]


def _undefined(path: str, line: int, name: str = "moor") -> Wrong:
    return Wrong(path, line, "no-undef", f"'{name}' is not defined")


_CALL = """{}/** What is called to a ship. */
export function hail(name) {{
  return "Ahoy, " + name;
}}
{}"""
_MOOR_ONE = {"src/crew.js": _CALL.format("", "\nmoor();\n")}
_MOOR_TWO = {"src/crew.js": _CALL.format("moor();\n\n", "\nmoor();\n")}
_MOOR_ABOVE = ("/** What", "moor();\n\n/** What")
_SPEED = {
    "src/crew.js": _CALL.format("", "\nconst knots = 12;\n\nfunction speed() {\n  return knots;\n}\n\nspeed(knots);\n")
}
_SHIPS = ("fits(shipLength, length)", "fits(ships, length)")
_NO_SHIPS = _undefined("src/plan.js", 5, "ships")

ESLINT = (
    _eslint(
        "signature change",
        Step(
            edit("src/tariff.js", ("dues(shipLength, days)", "dues(shipLength)")),
            introduced=(_undefined("src/tariff.js", 3, "days"),),
        ),
    ),
    _eslint(
        "deleted export",
        Step(
            edit("src/crew.js", ("function speed() {\n  return knots;\n}\n\n", "")),
            introduced=(_undefined("src/crew.js", 8, "speed"),),
        ),
        files=_SPEED,
    ),
    _eslint(
        "renamed constant",
        Step(
            edit("src/crew.js", ("const knots", "const miles")),
            introduced=(
                Wrong("src/crew.js", 6, "no-unused-vars", "'miles' is assigned a value but never used", "warning"),
                _undefined("src/crew.js", 9, "knots"),
                _undefined("src/crew.js", 12, "knots"),
            ),
        ),
        files=_SPEED,
    ),
    _eslint(
        "second identical error",
        Step(edit("src/crew.js", _MOOR_ABOVE), introduced=(_undefined("src/crew.js", 1),), still=1),
        files=_MOOR_ONE,
    ),
    _eslint(
        "second identical error, the file is open",
        Step(edit("src/crew.js", _MOOR_ABOVE), introduced=(_undefined("src/crew.js", 1),), still=1),
        files=_MOOR_ONE,
        open=("src/crew.js",),
    ),
    _eslint(
        "shift by ten lines",
        Step(edit("src/crew.js", ("/** What", "\n" * 10 + "/** What")), still=1),
        files=_MOOR_ONE,
    ),
    _eslint(
        "fix one of two",
        Step(edit("src/crew.js", _MOOR_ABOVE[::-1]), resolved=(_undefined("src/crew.js", 1),), still=1),
        files=_MOOR_TWO,
    ),
    _eslint(
        "break, fix, break",
        Step(
            edit("src/plan.js", _SHIPS),
            introduced=(_NO_SHIPS,),
        ),
        Step(
            edit("src/plan.js", _SHIPS[::-1]),
            resolved=(_NO_SHIPS,),
        ),
        Step(
            edit("src/plan.js", _SHIPS),
            introduced=(_NO_SHIPS,),
        ),
    ),
    _eslint(
        "change of a config file",
        Step(
            edit(
                "eslint.config.js",
                ('"prefer-const": "error",', '"prefer-const": "error",\n      "no-magic-numbers": "error",'),
            ),
            introduced=(
                Wrong("src/office.js", 6, "no-magic-numbers", "No magic number: 0"),
                Wrong("src/office.js", 6, "no-magic-numbers", "No magic number: 40"),
                Wrong("src/tariff.js", 3, "no-magic-numbers", "No magic number: 12"),
            ),
            still=1,
            checked=("src/crew.js", "src/office.js", "src/tariff.js"),
            unseen=SETTINGS,
        ),
        files=_MOOR_ONE,
    ),
    _eslint(
        "new file",
        Step(
            write("src/pilot.js", "let free = 40;\nmoor(free);\n"),
            introduced=(
                Wrong("src/pilot.js", 1, "prefer-const", "'free' is never reassigned"),
                _undefined("src/pilot.js", 2),
            ),
        ),
    ),
    _eslint(
        "deleted file",
        Step(patched({"src/crew.js": None}), resolved=(_undefined("src/crew.js", 6),)),
        files=_MOOR_ONE,
    ),
    _eslint(
        "patch over five files",
        Step(
            patched(
                {
                    "src/berths.js": (("return shipLength", "return boats"),),
                    "src/plan.js": (("berths.find(", "piers.find("),),
                    "src/tariff.js": (("shipLength * days", "shipLength * hours * days"),),
                    "src/office.js": (('"./tariff.js";\n', '"./tariff.js";\n' + "\n" * 10),),
                    "src/crew.js": (("\nmoor();\n", ""),),
                }
            ),
            introduced=(
                _undefined("src/berths.js", 3, "boats"),
                Wrong("src/plan.js", 4, "no-unused-vars", "'berths' is defined", "warning"),
                _undefined("src/plan.js", 5, "piers"),
                _undefined("src/tariff.js", 3, "hours"),
            ),
            resolved=(_undefined("src/crew.js", 6),),
            still=1,
        ),
        files={**_MOOR_ONE, "src/office.js": 'import "./berths.js";\nimport "./tariff.js";\n\nmoor();\n'},
    ),
)

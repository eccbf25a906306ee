"""Planted edits in Go, whose server speaks of closed files as well, and in C++, where a header breaks its includers."""

from __future__ import annotations

from tests.real.planted import DISK, SETTINGS, Case, Step, Wrong, edit, patched, write


def _gopls(kind: str, *steps: Step, **more: object) -> Case:
    return Case(kind, "gopls", steps, **more)  # type: ignore[arg-type]


_HAIL = """package harbour

{}// Hail returns what is called to a ship.
func Hail(ship Ship) string {{
	return "Ahoy, " + ship.Name
}}
{}"""
_BAD = 'var _ int = "x"\n'
_TYPE = 'cannot use "x" (untyped string constant) as int value'
_ONE = {"crew.go": _HAIL.format("", "\n" + _BAD)}
_TWO = {"crew.go": _HAIL.format(_BAD + "\n", "\n" + _BAD)}
_ABOVE = ("// Hail", _BAD + "\n// Hail")
_TIDE = ("berthLength int)", "berthLength int, tide int)")
_LONGEST = """
// Longest returns the longest of the ships.
func Longest(ships []Ship) Ship {
	best := Ship{}
	for _, ship := range ships {
		if !Fits(ship, best.Length) {
			best = ship
		}
	}
	return best
}
"""
_NAMED = ("Fits(ship, length)", "Fits(length, length)")
_NOT_INT = Wrong("plan/plan.go", 9, "IncompatibleAssign", "cannot use length (variable of type int) as harbour.Ship")
_BROKEN = "could not import harbour"
_SIGNATURE = Step(
    edit("berths.go", _TIDE),
    introduced=(
        Wrong("berths.go", 19, "WrongArgCount", "not enough arguments in call to Fits"),
        Wrong("office/office.go", 8, "WrongArgCount", "not enough arguments in call to harbour.Fits"),
        Wrong("plan/plan.go", 9, "WrongArgCount", "not enough arguments in call to harbour.Fits"),
    ),
    checked=("office/office.go", "plan/plan.go"),
)

GOPLS = (
    _gopls("signature change", _SIGNATURE),
    _gopls("signature change, the file is open", _SIGNATURE, open=("berths.go",)),
    _gopls("signature change, a dependent is open", _SIGNATURE, open=("plan/plan.go",)),
    _gopls(
        "deleted export",
        Step(
            edit("berths.go", (_LONGEST, "")),
            introduced=(Wrong("fleet/fleet.go", 8, "UndeclaredImportedName", "undefined: harbour.Longest"),),
            checked=("fleet/fleet.go",),
        ),
    ),
    _gopls(
        "renamed field",
        Step(
            edit("berths.go", ("\tLength int\n", "\tMetres int\n")),
            introduced=(
                Wrong("berths.go", 12, "MissingFieldOrMethod", "ship.Length undefined"),
                Wrong("berths.go", 19, "MissingFieldOrMethod", "best.Length undefined"),
                Wrong("tariff.go", 5, "MissingFieldOrMethod", "ship.Length undefined"),
            ),
            checked=("tariff.go",),
        ),
    ),
    _gopls(
        "second identical error",
        Step(edit("crew.go", _ABOVE), introduced=(Wrong("crew.go", 3, "IncompatibleAssign", _TYPE),), still=1),
        files=_ONE,
    ),
    _gopls(
        "shift by ten lines",
        Step(edit("crew.go", ("package harbour\n", "package harbour\n" + "\n" * 10)), still=1),
        files=_ONE,
    ),
    _gopls(
        "fix one of two",
        Step(edit("crew.go", _ABOVE[::-1]), resolved=(Wrong("crew.go", 3, "IncompatibleAssign", _TYPE),), still=1),
        files=_TWO,
    ),
    _gopls(
        "break, fix, break",
        Step(edit("plan/plan.go", _NAMED), introduced=(_NOT_INT,)),
        Step(edit("plan/plan.go", _NAMED[::-1]), resolved=(_NOT_INT,)),
        Step(edit("plan/plan.go", _NAMED), introduced=(_NOT_INT,)),
    ),
    _gopls(
        "error in a dependent only",
        Step(
            edit("tariff.go", ("days int) int", "days int) string"), ("ship.Length * days * 12", "ship.Name")),
            introduced=(Wrong("office/office.go", 9, "MismatchedTypes", "harbour.Dues(ship, days) + 5"),),
            checked=("office/office.go",),
        ),
    ),
    _gopls(
        "change of a config file",
        Step(
            edit("go.mod", ("module harbour\n", "module port\n")),
            introduced=(
                Wrong("fleet/fleet.go", 4, "BrokenImport", _BROKEN),
                Wrong("office/office.go", 4, "BrokenImport", _BROKEN),
                Wrong("plan/plan.go", 4, "BrokenImport", _BROKEN),
            ),
            checked=("fleet/fleet.go", "office/office.go", "plan/plan.go"),
            unseen=SETTINGS,
        ),
    ),
    _gopls(
        "new file",
        Step(
            write("pilot.go", 'package harbour\n\n// Free is whether the quay is.\nvar Free = Fits(Ship{}, "40")\n'),
            introduced=(
                Wrong("pilot.go", 4, "IncompatibleAssign", 'cannot use "40" (untyped string constant) as int'),
            ),
        ),
    ),
    _gopls(
        "new file that was missed",
        Step(
            write("pilot.go", 'package harbour\n\n// Pilot is his name.\nvar Pilot = "Jan"\n'),
            resolved=(Wrong("crew.go", 4, "UndeclaredName", "undefined: Pilot"),),
            checked=("crew.go",),
        ),
        files={"crew.go": "package harbour\n\n// Crew are their names.\nvar Crew = []string{Pilot}\n"},
        known=("crew.go",),
    ),
    _gopls(
        "deleted file",
        Step(
            patched({"tariff.go": None}),
            introduced=(Wrong("office/office.go", 9, "UndeclaredImportedName", "undefined: harbour.Dues"),),
            checked=("office/office.go",),
            unseen=DISK,
        ),
    ),
    _gopls(
        "patch over five files",
        Step(
            patched(
                {
                    "berths.go": (_TIDE, ("Fits(ship, best.Length)", "Fits(ship, best.Length, 2)")),
                    "plan/plan.go": (("Fits(ship, length)", "Fits(ship, length, 2)"),),
                    "tariff.go": (("ship.Length * days", "ship.Depth * days"),),
                    "fleet/fleet.go": (("package fleet\n", "package fleet\n" + "\n" * 10),),
                    "crew.go": (_ABOVE,),
                }
            ),
            introduced=(
                Wrong("crew.go", 3, "IncompatibleAssign", _TYPE),
                Wrong("office/office.go", 8, "WrongArgCount", "not enough arguments in call to harbour.Fits"),
                Wrong("tariff.go", 5, "MissingFieldOrMethod", "ship.Depth undefined"),
            ),
            still=1,
            checked=("office/office.go",),
        ),
        files=_ONE,
    ),
)


def _clangd(kind: str, *steps: Step, **more: object) -> Case:
    return Case(kind, "clangd", steps, **more)  # type: ignore[arg-type]


_CALL = """#include "berths.hpp"

{}namespace harbour {{

/// What is called to a ship.
const char *hail(const Ship &ship) {{ return ship.name; }}

}} // namespace harbour
{}"""
_INT = "int *{} = 1.5;\n"
_INIT = "Cannot initialize a variable of type 'int *'"
_INT_ONE = {"crew.cpp": _CALL.format("", "\n" + _INT.format("low"))}
_INT_TWO = {"crew.cpp": _CALL.format(_INT.format("high") + "\n", "\n" + _INT.format("low"))}
_INT_ABOVE = ('"berths.hpp"\n\n', '"berths.hpp"\n\n' + _INT.format("high") + "\n")
_CPP_TIDE = ("int berth_length)", "int berth_length, int tide)")
_NO_MATCH = "No matching function for call to 'fits'"
_CPP_LONGEST = """
/// The longest of the ships.
const Ship &longest(const Ship *ships, int count);
"""
_CPP_NAMED = ("fits(ship, lengths[index])", "fits(ship, &lengths[index])")
_CPP_NOT_INT = Wrong("plan.cpp", 8, "ovl_no_viable_function_in_call", _NO_MATCH)
_NO_LENGTH = "No member named 'length' in 'harbour::Ship'"
_SHADOW = "int quay(int tide) {\n  if (tide > 1) {\n    int tide = 2;\n    return tide;\n  }\n  return tide;\n}\n"
_SHADOWED = Wrong("crew.cpp", 3, "-Wshadow", "Declaration shadows a local variable", "warning")
_CPP_SIGNATURE = Step(
    edit("berths.hpp", _CPP_TIDE),
    introduced=(
        Wrong("office.cpp", 6, "ovl_no_viable_function_in_call", _NO_MATCH),
        Wrong("plan.cpp", 8, "ovl_no_viable_function_in_call", _NO_MATCH),
    ),
    checked=("office.cpp", "plan.cpp"),
)

_CALLED = {"berths.hpp": "bool {}(", "berths.cpp": "bool {}(", "plan.cpp": "if ({}(", "office.cpp": "return {}("}
_FITS, _FITS_BACK = (
    Step(patched({path: ((use.format(old), use.format(new)),) for path, use in _CALLED.items()}))
    for old, new in (("fits", "suit"), ("suit", "fits"))
)

CLANGD = (
    _clangd("signature change", _CPP_SIGNATURE),
    _clangd("signature change, the header is open", _CPP_SIGNATURE, open=("berths.hpp",)),
    _clangd("signature change, a dependent is open", _CPP_SIGNATURE, open=("plan.cpp",)),
    _clangd(
        "deleted export",
        Step(
            edit("berths.hpp", (_CPP_LONGEST, "")),
            introduced=(Wrong("fleet.cpp", 6, "undeclared_var_use", "Use of undeclared identifier 'longest'"),),
            checked=("fleet.cpp",),
        ),
    ),
    _clangd(
        "renamed field",
        Step(
            edit("berths.hpp", ("  int length;\n", "  int metres;\n")),
            introduced=(
                Wrong("berths.cpp", 5, "no_member", _NO_LENGTH),
                Wrong("berths.cpp", 10, "no_member", _NO_LENGTH),
                Wrong("berths.cpp", 10, "no_member", _NO_LENGTH),
                Wrong("tariff.hpp", 8, "no_member", _NO_LENGTH),
            ),
            checked=("berths.cpp", "tariff.hpp"),
        ),
    ),
    _clangd(
        "second identical error",
        Step(
            edit("crew.cpp", _INT_ABOVE),
            introduced=(Wrong("crew.cpp", 3, "init_conversion_failed", _INIT),),
            still=1,
        ),
        files=_INT_ONE,
    ),
    _clangd(
        "shift by ten lines",
        Step(edit("crew.cpp", ('"berths.hpp"\n', '"berths.hpp"\n' + "\n" * 10)), still=1),
        files=_INT_ONE,
    ),
    _clangd(
        "fix one of two",
        Step(
            edit("crew.cpp", _INT_ABOVE[::-1]),
            resolved=(Wrong("crew.cpp", 3, "init_conversion_failed", _INIT),),
            still=1,
        ),
        files=_INT_TWO,
    ),
    _clangd(
        "break, fix, break",
        Step(edit("plan.cpp", _CPP_NAMED), introduced=(_CPP_NOT_INT,)),
        Step(edit("plan.cpp", _CPP_NAMED[::-1]), resolved=(_CPP_NOT_INT,)),
        Step(edit("plan.cpp", _CPP_NAMED), introduced=(_CPP_NOT_INT,)),
    ),
    _clangd(
        "error in a dependent only",
        Step(
            edit(
                "tariff.hpp",
                ("inline int dues(const Ship &ship, int days)", "inline const char *dues(const Ship &ship, int)"),
                ("ship.length * days * 12", "ship.name"),
            ),
            introduced=(
                Wrong("office.cpp", 6, "init_conversion_failed", "Cannot initialize return object of type 'int'"),
            ),
            checked=("office.cpp",),
        ),
    ),
    _clangd(
        "change of a config file",
        Step(
            edit("compile_flags.txt", ("-Wextra\n", "-Wextra\n-Wshadow\n")),
            introduced=(_SHADOWED,),
            checked=("crew.cpp",),
            unseen=SETTINGS,
            late=True,
        ),
        files={"crew.cpp": _SHADOW},
    ),
    _clangd(
        "new config file",
        Step(
            write(".clangd", "CompileFlags:\n  Add: [-Wshadow]\n"),
            introduced=(_SHADOWED,),
            checked=("crew.cpp",),
            unseen=SETTINGS,
        ),
        files={"crew.cpp": _SHADOW},
    ),
    _clangd(
        "new file",
        Step(
            write("pilot.cpp", '#include "berths.hpp"\n\nbool open() { return harbour::fits({"Alma", 12}, "40"); }\n'),
            introduced=(
                Wrong("pilot.cpp", 3, "init_conversion_failed", "Cannot initialize a parameter of type 'int'"),
            ),
        ),
    ),
    _clangd(
        "new header that was missed",
        Step(
            write("pilot.hpp", "#pragma once\n\nint pilots();\n"),
            resolved=(
                Wrong("crew.cpp", 1, "pp_file_not_found", "'pilot.hpp' file not found"),
                Wrong("crew.cpp", 3, "undeclared_var_use", "Use of undeclared identifier 'pilots'"),
            ),
            checked=("crew.cpp",),
        ),
        files={"crew.cpp": '#include "pilot.hpp"\n\nint crew() { return pilots(); }\n'},
        known=("crew.cpp",),
    ),
    _clangd(
        "deleted file",
        Step(
            patched({"tariff.hpp": None}),
            introduced=(
                Wrong("office.cpp", 1, "pp_file_not_found", "'tariff.hpp' file not found"),
                Wrong("office.cpp", 6, "unknown_typename", "Unknown type name 'Ship'"),
            ),
            checked=("office.cpp",),
            unseen=DISK,
        ),
    ),
    _clangd(
        "patch over five files",
        Step(
            patched(
                {
                    "berths.cpp": (("return ship.length <", "return ship.depth <"),),
                    "plan.cpp": (_CPP_NAMED,),
                    "office.cpp": (("dues(ship, days)", "dues(days, ship)"),),
                    "fleet.cpp": (('"berths.hpp"\n', '"berths.hpp"\n' + "\n" * 10),),
                    "crew.cpp": (_INT_ABOVE,),
                }
            ),
            introduced=(
                Wrong("berths.cpp", 5, "no_member", "No member named 'depth' in 'harbour::Ship'"),
                Wrong("crew.cpp", 3, "init_conversion_failed", _INIT),
                Wrong("office.cpp", 6, "ovl_no_viable_function_in_call", "No matching function for call to 'dues'"),
                _CPP_NOT_INT,
            ),
            still=1,
        ),
        files=_INT_ONE,
    ),
    _clangd("a name as long as the old one, where it is declared and used", _FITS, _FITS_BACK, _FITS, _FITS_BACK),
    _clangd(
        "patch over a header and what includes it",
        Step(
            patched(
                {
                    "plan.cpp": (("lengths[index])", "lengths[index], 2)"), ("return -1", "return -2")),
                    "office.cpp": (("+ 5 : 0", "+ 6 : 1"),),
                    "berths.hpp": (_CPP_TIDE,),
                }
            ),
            introduced=(Wrong("office.cpp", 6, "ovl_no_viable_function_in_call", _NO_MATCH),),
        ),
        Step(
            patched(
                {
                    "berths.hpp": (_CPP_TIDE[::-1],),
                    "plan.cpp": (("return -2", "return -1"),),
                    "office.cpp": (("+ 6 : 1", "+ 5 : 0"),),
                }
            ),
            introduced=(Wrong("plan.cpp", 8, "ovl_no_viable_function_in_call", _NO_MATCH),),
            resolved=(Wrong("office.cpp", 6, "ovl_no_viable_function_in_call", _NO_MATCH),),
        ),
    ),
)

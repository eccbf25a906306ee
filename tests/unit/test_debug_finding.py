"""Where adapters are found, and which executable of cargo's has a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ombud.debug.catalogue import entries
from ombud.debug.finding import Place, find
from ombud.debug.testing import Built, built, complaints, named
from ombud.errors import UserError
from ombud.guard.trust import Trust
from ombud.operations.debugging.building import _only


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def place(root: Path, path: Path, said: bool | None = True) -> Place:
    folder = root / "ws"
    folder.mkdir(exist_ok=True)
    return Place((folder,), Trust.decide(folder, said, None), {"PATH": str(path)})


def test_js_debug_is_found_beside_the_package_that_carries_it(tmp_path: Path) -> None:
    package = tmp_path.resolve() / "lib" / "package" / "dist"
    program(package / "cli")
    script = program(package / "vendor" / "js-debug" / "vsDebugServer.cjs", 0o644)
    folder = tmp_path.resolve() / "bin"
    node = program(folder / "node")
    missing = find(entries()["js-debug"], place(tmp_path.resolve(), folder))
    assert not missing.available
    assert "mcp-debugger" in missing.reason
    (folder / "mcp-debugger").symlink_to(package / "cli")
    found = find(entries()["js-debug"], place(tmp_path.resolve(), folder))
    assert found.argv == (str(node), str(script), "${socket}")
    native = program(package / "vendor" / "codelldb" / "linux-x64" / "adapter" / "codelldb")
    assert find(entries()["codelldb"], place(tmp_path.resolve(), folder)).argv == (str(native), "--connect", "${port}")


def test_beside_a_program_of_the_project_only_with_trust(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    folder = root / "ws" / "node_modules" / ".bin"
    program(folder / "mcp-debugger")
    program(folder / "vendor" / "js-debug" / "vsDebugServer.cjs")
    program(root / "bin" / "node")
    assert find(entries()["js-debug"], place(root, root / "bin")).available
    assert not find(entries()["js-debug"], place(root, root / "bin", said=False)).available


def message(**row: object) -> str:
    return json.dumps(row)


def test_executables_and_complaints_out_of_cargos_messages() -> None:
    artifact = {"reason": "compiler-artifact", "target": {"src_path": "/w/src/lib.rs"}}
    printed = "\n".join(
        [
            "   Compiling shop",
            message(**artifact, profile={"test": True}, executable="/w/target/debug/deps/shop-1"),
            message(**artifact, profile={"test": False}, executable="/w/target/debug/shop"),
            message(**artifact, profile={"test": True}, executable=None),
            message(reason="compiler-message", message={"level": "error", "rendered": "error: no `x`"}),
            message(reason="compiler-message", message={"level": "warning", "rendered": "warning: unused"}),
            "[1]",
        ]
    )
    assert built(printed) == [Built(Path("/w/target/debug/deps/shop-1"), Path("/w/src/lib.rs"))]
    assert complaints(printed) == "error: no `x`"


LISTED = ["price::tests::adds: test", "tax::tests::adds: test", "whole: test", "price::tests::slow: benchmark", ""]


@pytest.mark.parametrize(
    ("test", "meant"),
    [
        ("price::tests::adds", ["price::tests::adds"]),
        ("src/price.rs::tests::adds", ["price::tests::adds", "tax::tests::adds"]),
        ("tests/whole.rs::whole", ["whole"]),
        ("dds", []),
        ("price::tests::slow", []),
    ],
)
def test_the_tests_that_an_id_means(test: str, meant: list[str]) -> None:
    assert named(test, LISTED) == meant


def test_of_several_that_of_the_file_is_meant() -> None:
    one, other = Built(Path("/t/a"), Path("/w/src/lib.rs")), Built(Path("/t/b"), Path("/w/tests/whole.rs"))
    both = [(one, "price::tests::adds"), (one, "tax::tests::adds")]
    assert _only(both, "src/tax.rs::tests::adds", Path("/w")) == (one, "tax::tests::adds")
    assert _only([(one, "whole"), (other, "whole")], "tests/whole.rs::whole", Path("/w")) == (other, "whole")
    with pytest.raises(UserError, match=r"price::tests::adds, tax::tests::adds"):
        _only(both, "tests::adds", Path("/w"))
    with pytest.raises(UserError, match="No test x"):
        _only([], "x", Path("/w"))

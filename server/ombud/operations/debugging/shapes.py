"""The params and the answers of the operation `debug`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ombud.operations.shapes import Arguments, Shape

Op = Literal[
    "status",
    "adapters",
    "breakpoints",
    "function_breakpoints",
    "data_breakpoints",
    "exception_breakpoints",
    "launch",
    "attach",
    "restart",
    "continue",
    "pause",
    "step_over",
    "step_in",
    "step_out",
    "run_to",
    "threads",
    "stack",
    "scopes",
    "variables",
    "set_variable",
    "evaluate",
    "snapshot",
    "output",
    "terminate",
]
Number = Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)]
Line = Annotated[int, msgspec.Meta(ge=1, le=100_000_000, description="One-based.")]
Text = Annotated[str, msgspec.Meta(max_length=100_000)]


class BreakpointParams(Arguments, frozen=True):
    line: Line
    condition: Text | None = None
    hit_condition: Text | None = None
    log_message: Text | None = None


class DataBreakpoint(Arguments, frozen=True):
    name: Text
    variables_reference: Number | None = None
    access: Literal["read", "write", "readWrite"] = "write"
    condition: Text | None = None


class Params(Arguments, frozen=True):
    op: Annotated[Op, msgspec.Meta(description="What to do; each takes the parameters that it names.")]
    path: Annotated[str, msgspec.Meta(description="The file of breakpoints, or to run to.")] | None = None
    line: Line | None = None
    breakpoints: (
        Annotated[list[BreakpointParams], msgspec.Meta(max_length=1000, description="All that the file is to have.")]
        | None
    ) = None
    names: (
        Annotated[list[Text], msgspec.Meta(max_length=200, description="Functions to stop in; all there are to be.")]
        | None
    ) = None
    filters: (
        Annotated[
            list[str],
            msgspec.Meta(max_length=50, description="Which exceptions to stop at, by the adapter's own names."),
        ]
        | None
    ) = None
    data: Annotated[list[DataBreakpoint], msgspec.Meta(max_length=50, description="Variables to watch.")] | None = None
    program: Annotated[str, msgspec.Meta(description="A program or a source file of the workspace.")] | None = None
    module: Annotated[str, msgspec.Meta(description="A module, as in python -m.")] | None = None
    test: Annotated[str, msgspec.Meta(description="The runner's own id, as tests/test_x.py::test_y.")] | None = None
    args: Annotated[list[str], msgspec.Meta(max_length=1000, description="The program's arguments.")] | None = None
    cwd: Annotated[str, msgspec.Meta(description="The folder to run in, within the workspace.")] | None = None
    env: (
        Annotated[
            dict[str, str | None],
            msgspec.Meta(description="Variables for the program besides the usual ones; null takes one away."),
        ]
        | None
    ) = None
    stop_on_entry: Annotated[bool, msgspec.Meta(description="Stop before the first line.")] = False
    adapter: (
        Annotated[str, msgspec.Meta(description="An adapter's name, where the language leaves a choice.")] | None
    ) = None
    port: Annotated[int, msgspec.Meta(ge=1, le=65535, description="Where the program to attach to listens.")] | None = (
        None
    )
    host: Annotated[
        Literal["127.0.0.1", "localhost", "::1"], msgspec.Meta(description="This computer, by one of its names.")
    ] = "127.0.0.1"
    pid: Annotated[int, msgspec.Meta(ge=2, le=2_000_000_000, description="The process to attach to.")] | None = None
    thread_id: Annotated[int, msgspec.Meta(description="A thread; the one that stopped, if left out.")] | None = None
    frame_id: (
        Annotated[
            int,
            msgspec.Meta(ge=0, le=2_000_000_000, description="A frame of the stack; the top one, if left out."),
        ]
        | None
    ) = None
    variables_reference: (
        Annotated[
            int,
            msgspec.Meta(ge=0, le=2_000_000_000, description="A scope or a value, until the program runs on."),
        ]
        | None
    ) = None
    name: Annotated[str, msgspec.Meta(max_length=100_000, description="The variable to set.")] | None = None
    value: Annotated[str, msgspec.Meta(max_length=100_000, description="Its new value, as source.")] | None = None
    expression: (
        Annotated[str, msgspec.Meta(max_length=100_000, description="What to evaluate in the stopped frame.")] | None
    ) = None
    start: Annotated[
        int, msgspec.Meta(ge=0, le=2_000_000_000, description="The first frame or variable, from zero.")
    ] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000, description="How many frames or variables at most.")] | None = (
        None
    )
    frames: Annotated[int, msgspec.Meta(ge=1, le=100, description="How many frames a snapshot has at most.")] | None = (
        None
    )
    tokens: (
        Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="How large a snapshot may be, in tokens.")] | None
    ) = None
    since: Annotated[
        int, msgspec.Meta(ge=0, le=2_000_000_000, description="Output from here on; the last answer's “next”.")
    ] = 0
    category: (
        Annotated[
            Literal["stdout", "stderr", "console", "important"], msgspec.Meta(description="Output of this kind only.")
        ]
        | None
    ) = None
    wait_ms: Annotated[int, msgspec.Meta(ge=0, le=600_000, description="How long to wait for the next stop.")] = 30_000


class UnboundShape(Shape, omit_defaults=True):
    path: str
    line: int
    message: str
    nearest_line: int | None = None
    """The nearest line that can take a breakpoint."""


class MovedShape(Shape):
    path: str
    line: int
    bound_line: int


class BoundShape(Shape):
    bound: int
    unbound: list[UnboundShape]
    moved: list[MovedShape]
    """Those that stand at another line than was asked for."""


class BreakpointShape(Shape, omit_defaults=True):
    line: int
    verified: bool
    message: str = ""
    bound_line: int | None = None
    """Where it really is, when that is another line."""


class FrameShape(Shape):
    id: int
    name: str
    path: str | None
    line: int
    text: str


class VariableShape(Shape):
    name: str
    value: str
    type: str
    variables_reference: int


class SnapshotFrame(Shape):
    name: str
    path: str | None
    line: int
    source: str
    arguments: list[VariableShape]
    locals: list[VariableShape]
    left_out: int = 0


class Result(Shape, omit_defaults=True):
    """Each op sets what it answers; see the protocol."""

    state: str | UnsetType = UNSET
    reason: str | UnsetType | None = UNSET
    description: str | UnsetType = UNSET
    path: str | UnsetType | None = UNSET
    line: int | UnsetType | None = UNSET
    thread_id: int | UnsetType | None = UNSET
    frames: list[Any] | UnsetType = UNSET
    """`FrameShape`, in a snapshot `SnapshotFrame`."""
    exit_code: int | UnsetType | None = UNSET
    output: str | UnsetType = UNSET
    session_id: str | UnsetType | None = UNSET
    adapter: str | UnsetType = UNSET
    breakpoints: Any = UNSET
    """A `BoundShape` after a launch, else a list of `BreakpointShape`."""
    bound: int | UnsetType = UNSET
    unbound: list[UnboundShape] | UnsetType = UNSET
    adapters: list[dict[str, Any]] | UnsetType = UNSET
    filters: list[dict[str, Any]] | UnsetType = UNSET
    functions: list[dict[str, Any]] | UnsetType = UNSET
    data: list[dict[str, Any]] | UnsetType = UNSET
    threads: list[dict[str, Any]] | UnsetType = UNSET
    scopes: list[dict[str, Any]] | UnsetType = UNSET
    variables: list[VariableShape] | UnsetType = UNSET
    total: int | UnsetType = UNSET
    name: str | UnsetType = UNSET
    value: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    variables_reference: int | UnsetType = UNSET
    exception: dict[str, str] | UnsetType | None = UNSET
    truncated: bool | UnsetType = UNSET
    entries: list[dict[str, str]] | UnsetType = UNSET
    next: int | UnsetType = UNSET
    dropped: int | UnsetType = UNSET
    expires_in_seconds: float | UnsetType = UNSET
    limits: dict[str, float] | UnsetType = UNSET
    last: dict[str, Any] | UnsetType | None = UNSET
    message: str | UnsetType = UNSET

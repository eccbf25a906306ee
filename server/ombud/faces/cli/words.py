"""What the help says of each command, in plain words: a line for the list, a paragraph, examples, and its options.

An operation that is not listed here still has a command: its help is the registry's description.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

USE, LOOK, SHAPE, GRAPH, CHANGE, SETUP = "Use it", "Look", "Shapes of code", "The code graph", "Change", "Set up"
MOMENT = "The debugger"
GROUPS = (USE, LOOK, SHAPE, GRAPH, MOMENT, CHANGE, SETUP)


class Words(NamedTuple):
    """``line`` is for the list of commands, ``text`` and ``examples`` for the command's own help."""

    group: str
    line: str
    text: str
    examples: tuple[str, ...]


COMMANDS: Mapping[str, Words] = {
    "serve": Words(
        USE,
        "be the language server that your editor or agent talks to",
        "Speak the Language Server Protocol on standard input and output, or on a port or a socket. Editors start this "
        "by themselves; what they have to be told is in the README.",
        ("ombud serve", "ombud serve --listen 127.0.0.1:7777", "ombud serve --listen unix:/tmp/mine/ombud.sock"),
    ),
    "attach": Words(
        USE,
        "the same, with servers and open files shared by all who attach",
        "Speak the Language Server Protocol on standard input and output, for a hub that all clients of this project "
        "share: an editor and agents see each other's open files and wait for no second start of a server. The hub is "
        "started if there is none, with the environment of whoever comes first, and ends by itself when its last "
        "client has left for a while.",
        ("ombud attach", "ombud attach --root ~/src/mine", "ombud attach unix:/tmp/mine/ombud.sock --no-start"),
    ),
    "check": Words(
        USE,
        "show what is wrong with files or folders, as compilers do",
        "Ask the language servers about files and print what they say, one line each. The exit code is 0 when nothing "
        "was found, 1 when there are errors, and 3 when a server that should have answered did not: silence is never "
        "called clean.",
        ("ombud check src", "ombud check app.py --severity warning"),
    ),
    "demo": Words(
        USE,
        "watch Ombud at work, on a small project or on yours",
        "Without PROJECT, work on a copy of the small project that comes with Ombud: detection, lazy start, an edit "
        "that breaks something, its fix, and the end of every process. With PROJECT, look at that folder without "
        "writing anything: which servers it gets, whether they start, and what they know.",
        ("ombud demo", "ombud demo ~/src/mine"),
    ),
    "grep": Words(
        SHAPE,
        "find a shape of code, where grep finds characters",
        "Find code that looks like PATTERN, whatever its white space and line breaks. $X stands for one expression, "
        "name or statement, $$$X for any number of them, $_ for one that does not matter; a name that stands twice "
        "must be the same code twice. Nothing is found in strings and comments. The exit code is 0 when something was "
        "found, 1 when nothing was, and 2 when the pattern cannot be read.",
        (
            "ombud grep 'print($$$ARGS)'",
            "ombud grep '$X == None' src tests --lang python",
            "ombud grep 'logger.$M($$$)' --where 'M.regex=^(debug|info)$' -C 2",
            "ombud grep -e 'eval($$$)' -e 'exec($$$)' src --not-inside 'def $F($$$): $$$'",
        ),
    ),
    "ast-grep": Words(
        SHAPE,
        "the same search with its parameters as they are, for programs",
        "Find code of a shape, as “ombud grep” does, with the parameters of the request ombud/astGrep. Use “ombud "
        "grep” to read what is found, and this to have it as data.",
        (
            "ombud ast-grep 'print($$$ARGS)' --json",
            """ombud ast-grep 'f($X)' --where '{"X": {"kind": "string"}}' --path src --json""",
        ),
    ),
    "rewrite": Words(
        SHAPE,
        "change a shape of code everywhere, after you have seen the diff",
        "Replace code that looks like PATTERN by REWRITE, in which $X stands for what $X was. The diff is shown, and "
        "nothing is written before you have said yes (or given --yes); then all files are written or none. What the "
        "change broke is said, and it can be rolled back. Where nobody can be asked, the change stays staged.",
        (
            "ombud rewrite '$X == None' '$X is None'",
            "ombud rewrite 'assertEquals($A, $B)' 'assertEqual($A, $B)' tests --yes",
            "ombud rewrite 'print($$$)' '' src --check",
        ),
    ),
    "scan": Words(
        SHAPE,
        "run your own rules: patterns with a message and a fix",
        "Look for what the rules of this project forbid. Rules are YAML or TOML files in .ombud/rules; the rule files "
        "of ast-grep are read as far as they can be. The exit code is 1 when a rule of severity error has found "
        "something.",
        (
            "ombud scan",
            "ombud scan src --rules no-print",
            "ombud scan --rules lint/rules --fix",
        ),
    ),
    "debug": Words(
        MOMENT,
        "run a program or one test to its first stop, and see the whole moment",
        "Run PROGRAM, a module or a single test until a breakpoint, or the exception that makes it fail, and print "
        "where that is: the frames with their source lines, arguments and locals. Then a small prompt steps on; where "
        "nobody can be asked, the program is ended. The exit code is 0 when it stopped and 1 when it never did. It "
        "needs trust in the project. With --op it is the operation itself.",
        (
            "ombud debug --break app.py:12 app.py -- --verbose",
            "ombud debug --test tests/test_cart.py::test_total",
            "ombud debug --break 'cart.py:40:total > 100' --module shop.cli --json",
        ),
    ),
    "debug-adapter": Words(
        MOMENT,
        "how an editor starts a debug adapter by itself",
        "Print the command, folder and environment of the debug adapter for a language or a program, and a launch "
        "configuration for it. Nothing is started. It needs trust in the project.",
        ("ombud debug-adapter --language python", "ombud debug-adapter --path app.py --json"),
    ),
    "status": Words(
        LOOK,
        "list the servers of this project and how they are",
        "List every language server that this project could have: whether it would start, and if not, why. Nothing is "
        "started by this. “ombud doctor” says more.",
        ("ombud status", "ombud status --json"),
    ),
    "lsp": Words(
        LOOK,
        "hover, definition, references, symbols, calls and more",
        "Ask a language server about a place in a file. Name the place by its line and a word on that line; "
        "“total#2” is the second “total” of the line. The server is started for the question and ended after it.",
        (
            "ombud lsp symbols --path app.py",
            "ombud lsp hover --path app.py --line 12 --symbol total",
            "ombud lsp references --path app.py --line 12 --symbol total --json",
            "ombud lsp code_actions --path app.py --line 3 --symbol os",
            "ombud lsp code_actions --path app.py --line 3 --symbol os --apply 'Remove unused import'",
        ),
    ),
    "diagnostics": Words(
        LOOK,
        "show what is wrong with one file, with hints if you like",
        "Show what the language servers say of one file now, and which of them have really answered for its present "
        "content. For several files or a folder use “ombud check”.",
        ("ombud diagnostics app.py", "ombud diagnostics app.py --severity hint --json"),
    ),
    "graph-search": Words(
        GRAPH,
        "find symbols by name, or by what their docstrings say",
        "Find functions, classes and other symbols by name: exact, by its beginning, by its humps (gUBN finds "
        "getUserByName), by a part, or by words of the docstring. The best come first. No language server is needed.",
        ("ombud graph-search total", "ombud graph-search gUBN --kind method --path src"),
    ),
    "graph-symbol": Words(
        GRAPH,
        "what one symbol is, and how often it is used",
        "Show one symbol: kind, signature, docstring, where it is, and how many callers and callees it has. Name it by "
        "its id (path#Class.method), by its qualified or bare name, or by a word on a line of a file.",
        ("ombud graph-symbol Shop.total", "ombud graph-symbol --path app.py --line 12 --symbol total"),
    ),
    "graph-callers": Words(
        GRAPH,
        "who calls a symbol",
        "List the call sites of a function, method or class, each with the function it stands in. What is only a guess "
        "by name is counted and not listed, unless you ask with --confidence; --confirm asks the language server.",
        ("ombud graph-callers Shop.total", "ombud graph-callers total --depth 2 --confidence inferred"),
    ),
    "graph-callees": Words(
        GRAPH,
        "what a symbol calls",
        "List what a function calls in this project, with the call sites. Calls into libraries are not listed.",
        ("ombud graph-callees Shop.total", "ombud graph-callees app.py#main --depth 3"),
    ),
    "graph-impact": Words(
        GRAPH,
        "what may break if a symbol or a file is changed",
        "Follow calls, references, inheritance and imports backwards: what depends directly on a symbol or a file, "
        "what indirectly, and which tests reach it, with a level of risk and what it is made of.",
        ("ombud graph-impact Shop.total", "ombud graph-impact --path app.py --depth 2"),
    ),
    "graph-dependencies": Words(
        GRAPH,
        "what a file imports, and which files depend on it",
        "Show what a file imports and exports, who imports it, and the files that depend on it directly and "
        "indirectly.",
        ("ombud graph-dependencies app.py",),
    ),
    "graph-path": Words(
        GRAPH,
        "how one symbol leads to another",
        "Find the shortest way of calls and imports from one symbol to another.",
        ("ombud graph-path main --to Shop.total",),
    ),
    "graph-outline": Words(
        GRAPH,
        "a file's symbols as a tree",
        "Show what a file defines, nested as it is written, with signatures.",
        ("ombud graph-outline app.py",),
    ),
    "graph-stats": Words(
        GRAPH,
        "how large the code graph is",
        "Count the files, symbols, references, imports and edges of this project's graph, and what was left out.",
        ("ombud graph-stats",),
    ),
    "graph-index": Words(
        GRAPH,
        "build the code graph, or bring it up to date",
        "Read the project's files into the code graph. Every other graph command does this by itself; --force reads "
        "all files again.",
        ("ombud graph-index", "ombud graph-index --path src --pattern '**/*.py'", "ombud graph-index --force"),
    ),
    "graph-export": Words(
        GRAPH,
        "the whole graph for other programs, as JSON lines or SCIP",
        "Write every symbol and edge as one JSON object a line, or a SCIP index, to standard output or to a file.",
        (
            "ombud graph-export",
            "ombud graph-export --path src",
            "ombud graph-export --format scip --output index.scip",
        ),
    ),
    "edit": Words(
        CHANGE,
        "replace exact text in a file and hear what that broke",
        "Replace text in a file and say which errors and warnings this brought, and which it resolved; what was wrong "
        "before is only counted. Each oldText must stand in the file exactly once, unless replaceAll is true.",
        (
            """ombud edit app.py --edits '[{"oldText": "a + b", "newText": "a - b"}]'""",
            "ombud edit app.py --edits - < edits.json",
        ),
    ),
    "write": Words(
        CHANGE,
        "write a whole file and hear what that broke",
        "Write a file with this content, make its folders where they are missing, and say which errors and warnings "
        "this brought. A file that is there keeps its encoding and mode.",
        ("ombud write notes.py --content 'x = 1'", "ombud write app.py --content - < new.py"),
    ),
    "apply-patch": Words(
        CHANGE,
        "apply a patch to several files and hear what that broke",
        "Apply a unified diff, as git and agents write it: files changed, made, deleted and moved, all or none. "
        "Lines may have moved since it was made; their text must be what the patch says.",
        ("ombud apply-patch - < fix.patch", "ombud apply-patch --patch - --preview < fix.patch"),
    ),
    "rename": Words(
        CHANGE,
        "rename a symbol, or a file with its imports",
        "Rename a symbol in every file that uses it, by the language server that knows it; or move a file or folder "
        "and have the imports of it changed. All of it is written or none, and what that broke is said.",
        (
            "ombud rename app.py --line 12 --symbol total --new-name amount",
            "ombud rename app.py --line 12 --symbol total --new-name amount --no-apply",
            "ombud rename app.py --new-path lib/app.py",
        ),
    ),
    "checkpoints": Words(
        LOOK,
        "list the writes that can be rolled back",
        "List what is kept of the states before writes, the newest first. Every command is a session of its own, so "
        "ask for all: those of earlier commands, of agents and of editors on this project.",
        ("ombud checkpoints --all", "ombud checkpoints --all --json"),
    ),
    "rollback": Words(
        CHANGE,
        "undo a write and the later ones of its session",
        "Bring back what was there before a write: its files, their permissions and their names, and those of every "
        "later write of the same session, all or nothing. Refused where somebody else changed one of the files since. "
        "A rollback is a write itself and can be rolled back.",
        ("ombud rollback c3", "ombud rollback c3 --preview"),
    ),
    "ast-edit": Words(
        CHANGE,
        "stage a change of a shape of code; “rewrite” also asks and writes",
        "Stage what “ombud rewrite” would write, and write nothing: it is kept under an id for a day, until “ombud "
        "resolve” commits or discards it. Several rewritings at once are given as --ops, in JSON.",
        (
            "ombud ast-edit '$X == None' --rewrite '$X is None' --check",
            """ombud ast-edit --ops '[{"pattern": "old($X)", "rewrite": "new($X)"}]' --path src --json""",
        ),
    ),
    "staged": Words(
        LOOK,
        "list the changes that are staged, or show one of them",
        "List what was staged in this project and waits for a decision: its files, by whom, and how old it is. With an "
        "id, show its diffs and which of its files were changed since.",
        ("ombud staged", "ombud staged --edit-id e3"),
    ),
    "resolve": Words(
        CHANGE,
        "write what is staged, or forget it",
        "Commit a staged change: exactly what was shown is written, all files or none. It is refused where a file is "
        "not as it was when the change was staged; “ombud restage” then makes it anew. Or discard it. --paths does "
        "either for some of the files only.",
        (
            "ombud resolve e3 --action commit",
            """ombud resolve e3 --action commit --paths '["src/app.py"]'""",
            "ombud resolve e3 --action discard",
        ),
    ),
    "restage": Words(
        CHANGE,
        "stage a change again, on what the files hold today",
        "Make a staged change anew from the files as they are now, as after a commit that was refused. It gets a new "
        "id; the old one is gone.",
        ("ombud restage e3", "ombud restage e3 --check"),
    ),
    "transaction": Words(
        CHANGE,
        "group the writes of a session; for clients that stay",
        "Begin, commit or abort a transaction: all of its writes or none. It ends with its session, and every command "
        "is a session of its own, so from the command line it groups nothing; it is here for what talks to “ombud "
        "serve”.",
        ("ombud transaction begin",),
    ),
    "doctor": Words(
        SETUP,
        "which servers this project gets, and how to get the others",
        "For every language in this project: which servers are for it, where their root is and what marks it, which "
        "command was found and its version, whether it would start, and if not, why and what to do. With --start each "
        "one is really started and ended again.",
        ("ombud doctor", "ombud doctor --start"),
    ),
    "trust": Words(
        SETUP,
        "let a project's own programs run, or take that back",
        "Some language servers run programs or configuration that come with the project. They wait until you say "
        "that you trust it. Trust is kept in your own state folder, for this folder and the programs that are in it "
        "now.",
        ("ombud trust", "ombud trust ~/src/mine", "ombud trust --list", "ombud trust --revoke"),
    ),
    "reload": Words(
        SETUP,
        "read the configuration again and restart what runs",
        "Read the configuration again and restart the running servers of this process. From the command line there are "
        "none, so this only tells whether the configuration can be read; an editor sends it to the server it talks to.",
        ("ombud reload", "ombud reload --server basedpyright"),
    ),
}

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "": {
        "path": "the file, as seen from the folder you are in.",
        "line": "the line, counted from 1.",
        "symbol": "a word on that line; name#2 is its second occurrence.",
        "position": "the place as the protocol has it, counted from 0, in place of line and symbol.",
        "query": "only symbols with this in their name.",
        "limit": "how many items to show at most.",
        "waitMs": "how long to wait for the servers, in milliseconds; without it, long enough for them to start first.",
        "severity": "“hint” shows hints as well.",
        "buffers": "“edit” changes an open file in the editor that has it open, and leaves saving it to you.",
        "preview": "write nothing; only say what the change would bring.",
        "format": "have the new text formatted by the formatter of its language before it is written.",
        "diagnostics": "“none” does not ask the servers what the change broke; “defer” asks later, which is of use to "
        "sessions that stay, and not to a single command.",
    },
    "lsp": {
        "action": "what to ask for",
        "query": "for symbols: only those with this in their name; without a path, the whole workspace is asked.",
        "apply": "for code_actions: carry out the one of this title, or the only one with this in its title.",
    },
    "diagnostics": {"path": "the file, as seen from the folder you are in; “*” means every open one."},
    "write": {
        "content": "the file's whole new text.",
    },
    "edit": {
        "edits": "a list of {oldText, newText, replaceAll?}.",
    },
    "apply_patch": {
        "patch": "a unified diff, its paths as seen from the project's folder.",
    },
    "rename": {
        "path": "the file with the symbol, or what is to be moved, as seen from the folder you are in.",
        "newName": "the symbol's new name.",
        "newPath": "the new place of the file or folder, as seen from the folder you are in.",
        "apply": "with --no-apply nothing is written, and every edit is shown.",
    },
    "graph_index": {"path": "only what is in this file or folder is counted."},
    "graph_search": {"path": "only in this file or folder."},
    "graph_export": {"path": "only this file, or the files in this folder."},
    "reload": {"server": "only the server of this name."},
    "checkpoints": {"all": "those of every session on this project, also of earlier commands."},
    "rollback": {"checkpoint": "the id that a write printed, or one of “ombud checkpoints --all”."},
    "transaction": {"action": "begin; commit: keep what was written; abort: restore everything since the begin"},
}
"""Help for options by operation and param; the entry without a name is for all of them."""


GRAPH_OPTIONS: Mapping[str, str] = {
    "symbol": "an id (path#Class.method), a qualified name or a bare name; with --path and --line a word on that line, "
    "where name#2 is its second occurrence.",
    "waitMs": "how long to wait for the first index of a folder, in milliseconds; then the answer is that of the files "
    "read so far.",
}
"""Help for options that mean something else where the graph is asked."""


def option_words(operation: str) -> dict[str, str]:
    """Help for the options of an operation, by param."""
    graph = GRAPH_OPTIONS if operation.startswith("graph_") else {}
    return {**OPTIONS[""], **graph, **OPTIONS.get(operation, {})}

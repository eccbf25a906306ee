"""The language table: which file is in which language."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.syntax.languages import canonical, is_known, language_of, load_languages

NAMES = {
    "a.py": "python",
    "a.pyi": "python",
    "SConstruct": "python",
    "a.ts": "typescript",
    "a.d.ts": "typescript",
    "a.mts": "typescript",
    "a.tsx": "typescriptreact",
    "a.jsx": "javascriptreact",
    "a.mjs": "javascript",
    "a.c": "c",
    "a.C": "cpp",
    "a.h": "cpp",
    "a.H": "cpp",
    "a.hpp": "cpp",
    "A.CPP": "cpp",
    "a.cu": "cuda-cpp",
    "a.m": "objective-c",
    "a.mm": "objective-cpp",
    "a.go": "go",
    "go.mod": "go.mod",
    "go.sum": "go.sum",
    "go.work": "go.work",
    "a.gotmpl": "gotmpl",
    "a.rs": "rust",
    "Cargo.lock": "toml",
    "Makefile.toml": "toml",
    "a.java": "java",
    "a.kts": "kotlin",
    "build.gradle": "groovy",
    "Jenkinsfile": "groovy",
    "Jenkinsfile.deploy": "groovy",
    "a.sh": "shellscript",
    ".bashrc": "shellscript",
    "PKGBUILD": "shellscript",
    "a.fish": "fish",
    "Dockerfile": "dockerfile",
    "dockerfile": "dockerfile",
    "Dockerfile.dev": "dockerfile",
    "web.Dockerfile": "dockerfile",
    "web.dockerfile": "dockerfile",
    "Containerfile": "dockerfile",
    "Dockerfile.dockerignore": "ignore",
    "Makefile": "makefile",
    "makefile": "makefile",
    "GNUmakefile": "makefile",
    "rules.mk": "makefile",
    "Makefile.PL": "perl",
    "CMakeLists.txt": "cmake",
    "notes.txt": "plaintext",
    "meson.build": "meson",
    "justfile": "just",
    "Gemfile": "ruby",
    "a.rb": "ruby",
    "a.html.erb": "erb",
    "a.blade.php": "blade",
    "a.php": "php",
    "package.json": "json",
    "tsconfig.json": "jsonc",
    "tsconfig.build.json": "jsonc",
    "jsconfig-base.json": "jsonc",
    "deno.json": "jsonc",
    ".eslintrc": "jsonc",
    ".eslintrc.json": "jsonc",
    "a.jsonc": "jsonc",
    "app.js.map": "json",
    "a.yaml": "yaml",
    "a.YML": "yaml",
    ".clang-format": "yaml",
    "pyproject.toml": "toml",
    "a.md": "markdown",
    "a.mdx": "mdx",
    "a.tex": "latex",
    "a.bib": "bibtex",
    "main.tf": "terraform",
    "prod.tfvars": "terraform-vars",
    "a.ml": "ocaml",
    "a.mli": "ocaml.interface",
    "dune-project": "dune",
    "a.hs": "haskell",
    "a.lhs": "literate haskell",
    "x.cabal": "cabal",
    "a.ex": "elixir",
    "a.heex": "phoenix-heex",
    "a.cs": "csharp",
    "a.cshtml": "razor",
    "a.csproj": "xml",
    "a.css": "css",
    "a.scss": "scss",
    "a.vue": "vue",
    "a.svelte": "svelte",
    "a.astro": "astro",
    ".env": "dotenv",
    ".env.local": "dotenv",
    "a.R": "r",
    "a.Rmd": "rmd",
    "a.sv": "systemverilog",
    "a.zig": "zig",
    "build.zig.zon": "zig",
}


@pytest.mark.parametrize(("name", "language"), NAMES.items())
def test_name_decides_the_language(name: str, language: str) -> None:
    assert language_of(PurePosixPath("/ws/sub") / name) == language


@pytest.mark.parametrize("name", ["a.unheard-of", "noextension", "a.", ".hidden", "…", "a b"])
def test_unknown_name_has_no_language(name: str) -> None:
    assert language_of(PurePosixPath(name)) is None


def test_folder_of_a_file_can_decide() -> None:
    assert language_of(PurePosixPath("/ws/.vscode/settings.json")) == "jsonc"
    assert language_of(PurePosixPath("/ws/vscode/settings.json")) == "json"
    assert language_of(PurePosixPath("/ws/.cargo/config")) == "toml"
    assert language_of(PureWindowsPath(r"C:\ws\.vscode\settings.json")) == "jsonc"


@pytest.mark.parametrize(
    ("line", "language"),
    [
        (b"#!/bin/sh\n", "shellscript"),
        (b"#!/bin/bash -eu\n", "shellscript"),
        (b"#! /usr/bin/env bash\n", "shellscript"),
        (b"#!/usr/bin/env python3\r\n", "python"),
        (b"#!/usr/bin/python3.12\n", "python"),
        (b"#!/usr/bin/env -S python3 -u\n", "python"),
        (b"#!/usr/bin/env -S node --no-warnings\n", "javascript"),
        (b"#!/usr/bin/env -Snode --no-warnings\n", "javascript"),
        (b"#!/usr/bin/env -i -u PATH LANG=C perl -w\n", "perl"),
        (b"#!/usr/bin/env -S deno run\n", "typescript"),
        (b"#!/usr/bin/env Rscript\n", "r"),
        (b"#!/usr/bin/pypy3\n", "python"),
        (b"#!/opt/ruby-3.2/bin/ruby3.2\n", "ruby"),
        (b"\xef\xbb\xbf#!/usr/bin/env fish\n", "fish"),
        (b"#!C:\\Python\\python.exe\n", "python"),
        (b'<?xml version="1.0"?>', "xml"),
        (b"<?php echo 1;", "php"),
        (b"<!DOCTYPE HTML>", "html"),
    ],
)
def test_first_line_decides_where_the_name_says_nothing(line: bytes, language: str) -> None:
    assert language_of(PurePosixPath("tool"), line) == language


@pytest.mark.parametrize(
    "line", [b"", b"#!", b"#!/usr/bin/env\n", b"#!/usr/bin/env -u\n", b"#!/opt/x/frobnicate", b"hello"]
)
def test_first_line_that_says_nothing(line: bytes) -> None:
    assert language_of(PurePosixPath("tool"), line) is None


def test_first_line_never_overrules_a_name() -> None:
    assert language_of(PurePosixPath("a.py"), b"#!/bin/sh\n") == "python"


@given(
    st.binary(max_size=600), st.text(min_size=1, max_size=40).filter(lambda text: "/" not in text and "\0" not in text)
)
def test_any_name_and_first_line_are_answered(line: bytes, name: str) -> None:
    found = language_of(PurePosixPath("/ws") / name, line)
    assert found is None or is_known(found)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("sh", "shellscript"),
        ("cs", "csharp"),
        ("objc", "objective-c"),
        ("gomod", "go.mod"),
        ("typescript.tsx", "typescriptreact"),
        ("javascript.jsx", "javascriptreact"),
        ("tex", "latex"),
        ("yaml.ansible", "yaml"),
        ("yaml.something", "yaml"),
        ("jinja.html", "html"),
        ("Python", "python"),
        ("python", "python"),
        ("go.mod", "go.mod"),
        ("never-heard", "never-heard"),
        ("never.heard", "never.heard"),
    ],
)
def test_spellings_of_clients(said: str, meant: str) -> None:
    assert canonical(said) == meant


def test_table_is_large_and_without_contradictions() -> None:
    table = load_languages().languages
    assert len(table) >= 80
    for field in ("extensions", "filenames", "globs", "shebangs", "prefixes", "aliases"):
        owners = Counter(value for row in table.values() for value in getattr(row, field))
        assert [value for value, count in owners.items() if count > 1] == [], f"{field} of two languages"
    for name, row in table.items():
        assert all(extension.startswith(".") and len(extension) > 1 for extension in row.extensions), name
        assert all("/" not in filename for filename in row.filenames), name
        assert all(prefix == prefix.casefold() for prefix in row.prefixes), f"{name}: prefixes are compared folded"
        assert all(alias == alias.casefold() for alias in row.aliases), f"{name}: aliases are compared folded"
        assert not set(row.aliases) & set(table), f"{name}: an alias is another language's id"


def test_every_pattern_of_the_table_leads_to_its_own_language() -> None:
    for name, row in load_languages().languages.items():
        for extension in row.extensions:
            assert language_of(PurePosixPath(f"some{extension}")) == name, extension
        for filename in row.filenames:
            assert language_of(PurePosixPath(filename)) == name, filename
        for glob in row.globs:
            assert language_of(PurePosixPath(glob.replace("*", "xyz"))) == name, glob


def test_registered_ids_of_the_specification_are_known() -> None:
    registered = (
        "abap bat bibtex clojure coffeescript c cpp csharp css d diff dart dockerfile elixir erlang fsharp git-commit "
        "git-rebase go groovy handlebars haskell html ini java javascript javascriptreact json latex less lua makefile "
        "markdown objective-c objective-cpp pascal perl php powershell jade python r razor ruby rust scss sass scala "
        "shaderlab shellscript sql swift typescript typescriptreact vb xml xsl yaml"
    )
    assert [language for language in registered.split() if not is_known(language)] == []


def test_importing_reads_nothing() -> None:
    code = "import sys, ombud.syntax.languages; print('tomllib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "False"

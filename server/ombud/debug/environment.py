"""The environment of a debugged program: an allow-list of the user's own, and what the caller names.

A program that is debugged is watched, and what it prints is read by whoever steers; tokens of the user's shell have no
business there (incident table, T3 and C9).
"""

from __future__ import annotations

from collections.abc import Mapping

_LISTED = (
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM NO_COLOR DISPLAY WAYLAND_DISPLAY TMPDIR TEMP TMP "
    "PWD HOSTNAME VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYTHONPATH PYTHONUTF8 PYTHONIOENCODING PYTHONUNBUFFERED "
    "PYENV_ROOT PYENV_VERSION DJANGO_SETTINGS_MODULE NODE_PATH NODE_ENV NVM_DIR VOLTA_HOME PNPM_HOME GOPATH GOROOT "
    "GOCACHE GOMODCACHE GOFLAGS GOPROXY GONOSUMDB GONOPROXY GOTOOLCHAIN GOOS GOARCH CGO_ENABLED GOSUMDB GOBIN "
    "CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE RUST_LOG JAVA_HOME "
    "GRADLE_USER_HOME MAVEN_OPTS DOTNET_ROOT GEM_HOME GEM_PATH RBENV_ROOT BUNDLE_PATH COMPOSER_HOME CC CXX CFLAGS "
    "CXXFLAGS LDFLAGS LD_LIBRARY_PATH DYLD_LIBRARY_PATH LIBRARY_PATH PKG_CONFIG_PATH XDG_CACHE_HOME XDG_CONFIG_HOME "
    "XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR SYSTEMROOT COMSPEC PATHEXT APPDATA LOCALAPPDATA "
)
NAMES = frozenset(_LISTED.split())
"""What programs need to be found and to run. ``LC_*`` pass as well."""


def allowed(base: Mapping[str, str], said: Mapping[str, str | None]) -> dict[str, str]:
    """``base`` cut down to the list, with the caller's ``said`` over it; a None takes a variable away."""
    found = {name: value for name, value in base.items() if name in NAMES or name.startswith("LC_")}
    for name, value in said.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found

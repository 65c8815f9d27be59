#!/usr/bin/env bash
# The suite runs on one Python with the newest packages. This shows that the other Pythons we promise work too, and so
# do the lowest versions that pyproject.toml admits, which pip never chooses by itself. Wheels are installed, as users
# do: 3.10 has its own, and one built by the next Python serves all after it.
#
#   tests/pythons.sh           every Python that is found, each with the newest packages
#   tests/pythons.sh lowest    the oldest of them, with the lowest versions
set -euo pipefail
cd "$(dirname "$0")/.."

SELECTION=@tests/quick.txt
VERSIONS="3.10 3.11 3.12 3.13"
TOOLS="pytest>=8.2 hypothesis>=6.100 networkx>=3.2"
AT_ONCE=2
WORK=build/pythons
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

find_python() { # a shim on PATH may stand for a Python that is not there, and some cannot make environments: try them
    local python
    for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if "$python" -c "import ensurepip" 2>/dev/null; then echo "$python" && return; fi
    done
    return 1
}

kind() { if [ "$1" = 3.10 ]; then echo cp310; else echo abi3; fi; }

content() { # what a wheel is made of, as one number
    find pyproject.toml setup.py src -type f ! -path '*__pycache__*' ! -path '*.egg-info*' ! -name '*.so' \
        -exec cksum {} + | sort | cksum | cut -d' ' -f1
}

build() { # of a copy: what an earlier build left behind would get into the wheel
    local version=$1 home
    home=$WORK/$(kind "$version")
    if [ "$(cat "$home/content" 2>/dev/null)" = "$CONTENT" ]; then return; fi
    rm -rf "$home" && mkdir -p "$home/source"
    cp -r pyproject.toml setup.py README.md LICENSE MANIFEST.in src "$home/source/"
    find "$home/source" -name '*.so' -delete
    "$(find_python "$version")" -m pip wheel --no-deps --wheel-dir "$home" "./$home/source"
    echo "$CONTENT" >"$home/content"
}

lowest() { # numpy==1.26 for numpy>=1.26, and so on; pytest brought what this imports
    "$1" - <<'PYTHON'
import sys
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
for wanted in map(Requirement, tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]):
    if wanted.marker is None or wanted.marker.evaluate():
        print(*(f"{wanted.name}=={bound.version}" for bound in wanted.specifier if bound.operator == ">="))
PYTHON
}

try_one() { # a version and the name of its environment; prints one line, and everything to a log
    local version=$1 home=$WORK/$2 bin=$WORK/$2/bin/python pins=""
    log=$home.log about=$2
    exec 3>&1 >"$log" 2>&1
    trap 'code=$?; echo "$about: $(tail -n 1 "$log")$([ $code = 0 ] || echo "; see $log")" >&3; exit $code' EXIT
    "$bin" -c "" 2>/dev/null || "$(find_python "$version")" -m venv --clear "$home"
    if [ "$(cat "$home/content" 2>/dev/null)" != "$CONTENT" ]; then
        if [ -e "$home/content" ]; then "$bin" -m pip uninstall --yes wayscore; fi # or the same version would stay
        # shellcheck disable=SC2086
        "$bin" -m pip install --no-compile $TOOLS
        if [ "$about" = lowest ]; then pins=$(lowest "$bin"); fi
        # shellcheck disable=SC2086
        "$bin" -m pip install --no-compile "$WORK/$(kind "$version")"/*.whl $pins
        echo "$CONTENT" >"$home/content"
    fi
    about="$about, $("$bin" -c "import platform as p, wayscore.kernels as k; print(p.python_version(), k.name)")"
    "$bin" -m pytest -q -p no:cacheprovider --tb=short $SELECTION
}

if [ "${1:-}" = one ]; then # how this script calls itself, below
    try_one "$2" "$3"
    exit
fi
CONTENT=$(content)
export CONTENT
mkdir -p "$WORK"
found=()
for version in $VERSIONS; do
    if find_python "$version" >/dev/null; then found+=("$version"); else echo "$version: not found"; fi
done
if [ ${#found[@]} = 0 ]; then echo "none of Python $VERSIONS is here" >&2 && exit 1; fi
if [ "${1:-}" = lowest ]; then
    build "${found[0]}"
    tests/pythons.sh one "${found[0]}" lowest
else
    build "${found[0]}" &
    if [ ${#found[@]} != 1 ] && [ "$(kind "${found[0]}")" = cp310 ]; then build "${found[1]}"; fi
    wait $!
    printf '%s\n' "${found[@]}" | xargs -P "$AT_ONCE" -I{} tests/pythons.sh one {} {}
fi

#!/usr/bin/env bash
# The recorder's wheel, installed and tested on Pythons that agents run on, as far as they are found here; on 3.8 with
# the lowest NumPy that it admits, on the others with the newest.
#
#   recorder/tests/pythons.sh [VERSION ...]
set -euo pipefail
cd "$(dirname "$0")/../.."

VERSIONS="${*:-3.6 3.8 3.9 3.10 3.13}"
LOWEST=1.17.3
AT_ONCE=2
WORK=build/recorder
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

find_python() { # a shim on PATH may stand for a Python that is not there
    local python
    for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if "$python" -c "import ensurepip" 2>/dev/null; then echo "$python" && return; fi
    done
    return 1
}

try_one() { # prints one line, and everything to a log
    local version=$1 home=$WORK/$1 bin=$WORK/$1/bin/python
    log=$home.log about=$version
    exec 3>&1 >"$log" 2>&1
    trap 'code=$?; echo "recorder, $about: $(tail -n 1 "$log")$([ $code = 0 ] || echo "; see $log")" >&3; exit $code' EXIT
    if ! "$bin" -c "import numpy, pytest" 2>/dev/null; then
        "$(find_python "$version")" -m venv --clear "$home"
        if [ "$version" = 3.6 ]; then "$bin" -m pip install "pip>=21,<22"; fi # its own takes packages of later Pythons
        "$bin" -m pip install --no-compile pytest "numpy$([ "$version" != 3.8 ] || echo "==$LOWEST")"
    fi
    "$bin" -m pip install --no-compile --no-deps --force-reinstall "$WORK"/*.whl
    about="$version, $("$bin" -c "import numpy; print('NumPy', numpy.__version__)")"
    (cd recorder/tests && "../../$bin" -m pytest -q -p no:cacheprovider --tb=short -c ../pyproject.toml --rootdir .. .)
}

if [ "${1:-}" = one ]; then # how this script calls itself, below
    try_one "$2"
    exit
fi
found=()
for version in $VERSIONS; do
    if find_python "$version" >/dev/null; then found+=("$version"); else echo "$version: not found"; fi
done
if [ ${#found[@]} = 0 ]; then echo "none of Python $VERSIONS is here" >&2 && exit 1; fi
mkdir -p "$WORK" && rm -f "$WORK"/*.whl
"$(find_python "${found[-1]}")" -m pip wheel --no-deps --wheel-dir "$WORK" ./recorder
printf '%s\n' "${found[@]}" | xargs -P "$AT_ONCE" -I{} recorder/tests/pythons.sh one {}

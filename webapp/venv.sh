#!/usr/bin/env bash
# Makes .venv with Python 3.11 or newer and installs the requirements file named by the argument,
# nothing but what its lock has, with the hashes of the lock. Instead of a file: lock, for what
# make lock needs while the locks do not fit.
set -euo pipefail
cd "$(dirname "$0")/.."

say_and_stop() {
    echo "$1" >&2
    exit 1
}

newest_enough() {
    for python in python3.11 python3.12 python3 python3.13 python3.14; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    say_and_stop "Cutline needs Python 3.11 or newer, which is not on the path: install it (Debian 12: apt-get install python3 python3-venv)."
}

have_ensurepip() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

if [ ! -x .venv/bin/pip ]; then
    [ -w . ] || say_and_stop "The folder $PWD cannot be written: make run puts .venv and var into it."
    python=$(newest_enough)
    if ! have_ensurepip "$python" && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        echo "Installing $package …"
        (apt-get update -qq && apt-get install -y -qq --no-install-recommends "$package") >/dev/null || true
    fi
    have_ensurepip "$python" ||
        say_and_stop "Python's venv module is missing: install it (Debian, Ubuntu: apt-get install python3-venv)."
    "$python" -m venv .venv || say_and_stop "The virtual environment .venv could not be made; the lines above say why."
fi

install() {
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes "$@" ||
        say_and_stop "The packages of $file could not be installed; the lines above say why. Is the package registry reachable?"
}

only() { # package lock
    sed -n "/^$1==/,/ # via/p" "$2"
}

file=$1
if [ "$file" = lock ]; then
    install -r <(only uv tests/requirements.lock; only packaging deploy/requirements.lock)
    exit
fi
echo "Installing $file (a few minutes the first time: Spark is large) …"
# PySpark is no wheel: the setuptools that builds it has to come from the lock, too.
install -r <(only setuptools deploy/requirements.lock)
install --only-binary :all: --no-binary pyspark --no-build-isolation --use-pep517 -r "$file"

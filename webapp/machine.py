"""Find what Cutline needs besides Python packages, install it, or explain how to.

python -m webapp.machine java chromium node postgres typescript
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

JAVA_NEEDED = 17
JAVA_PACKAGES = ["openjdk-17-jre-headless", "openjdk-21-jre-headless"]  # Debian 13 lacks the first
POSTGRES = Path("/usr/lib/postgresql")


class Missing(Exception):
    """Something is missing; the message says what, and how to get it."""


def ensure_java() -> Path:
    """Return Java's home. Raises: Missing."""
    return find_java() or get(
        find_java,
        JAVA_PACKAGES,
        f"Spark needs Java {JAVA_NEEDED}, which is missing: install it "
        f"(Debian, Ubuntu: apt-get install {JAVA_PACKAGES[0]}) or set JAVA_HOME.",
    )


def ensure_chromium() -> Path:
    """Return Chromium's program, for the browser tests. Raises: Missing."""
    return find_chromium() or get(
        find_chromium,
        ["chromium"],
        "The browser tests need Chromium, which is missing: install it "
        "(Debian: apt-get install chromium; elsewhere: playwright install chromium).",
    )


def ensure_node() -> Path:
    """Return Node's program, for the tests of the JavaScript. Raises: Missing."""
    return find_node() or get(
        find_node,
        ["nodejs"],
        "The JavaScript tests need Node 18, which is missing: install it "
        "(Debian, Ubuntu: apt-get install nodejs).",
    )


def ensure_typescript() -> Path:
    """Return TypeScript's compiler, which checks the JavaScript. Raises: Missing."""
    return find_typescript() or get(
        find_typescript,
        ["node-typescript"],
        "The check of the JavaScript needs TypeScript, which is missing: install it "
        "(Debian, Ubuntu: apt-get install node-typescript).",
    )


def ensure_postgres() -> Path:
    """Return the folder of PostgreSQL's programs, for the tests that run on it. Raises: Missing."""
    return find_postgres() or get(
        find_postgres,
        ["postgresql"],
        "The tests on PostgreSQL need its server, which is missing: install it "
        "(Debian, Ubuntu: apt-get install postgresql).",
    )


def get(find: Callable[[], Path | None], packages: list[str], sentence: str) -> Path:
    """Install the first of ``packages`` that apt has, and return what ``find`` then finds."""
    if not may_install():
        raise Missing(sentence)
    for package in packages:
        if apt_install(package) and (path := find()):
            return path
    raise Missing(sentence)


def find_java() -> Path | None:
    """Return the home of the first Java that is new enough."""
    home = os.environ.get("JAVA_HOME", "")
    installed = sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
    for program in (f"{home}/bin/java", shutil.which("java"), *installed):
        if program and java_version(program) >= JAVA_NEEDED:
            return Path(program).resolve().parents[1]
    return None


def java_version(program: str | Path) -> int:
    """Return Java's major version, or 0 if the program does not run."""
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    version = re.search(r'version "(\d+)', answer.stderr)
    return int(version[1]) if version else 0


def find_chromium() -> Path | None:
    names = [os.environ.get("CHROMIUM"), "chromium", "google-chrome", "google-chrome-stable"]
    path = next(filter(None, (shutil.which(name) for name in names if name)), None)
    return Path(path) if path else None


def find_node() -> Path | None:
    path = shutil.which("node") or shutil.which("nodejs")
    return Path(path) if path else None


def find_typescript() -> Path | None:
    program = shutil.which("tsc")
    return Path(program) if program else None


def find_postgres() -> Path | None:
    """Return the folder of a PostgreSQL server's programs, which Debian keeps off the PATH."""
    programs = sorted(POSTGRES.glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if on_path := shutil.which("postgres"):
        programs.append(Path(on_path).resolve())
    return programs[-1].parent if programs else None


def may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(package: str) -> bool:
    sys.stdout.write(f"Installing {package} …\n")
    sys.stdout.flush()
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    for command in (["apt-get", "update", "-qq"], install):
        answer = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    return answer.returncode == 0


def main(names: list[str]) -> None:
    ensure = {
        "java": ensure_java,
        "chromium": ensure_chromium,
        "node": ensure_node,
        "postgres": ensure_postgres,
        "typescript": ensure_typescript,
    }
    try:
        for name in names:
            ensure[name]()
    except Missing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main(sys.argv[1:])

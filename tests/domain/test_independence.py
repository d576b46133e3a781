"""The core stays visible: no framework, no engine, no clock."""

import subprocess
import sys
from pathlib import Path

import pytest

import snapshots.domain

FOLDER = Path(snapshots.domain.__file__).parent
MODULES = sorted(
    ".".join(("snapshots.domain", *path.relative_to(FOLDER).with_suffix("").parts))
    for path in FOLDER.rglob("*.py")
    if path.name != "__init__.py"
)
FOREIGN = {"django", "pyspark", "celery", "channels", "pyarrow", "pandas", "redis"}


def test_the_domain_stands_alone():
    code = f"import sys, {', '.join(MODULES)}; print(*sorted({FOREIGN!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("module", MODULES)
def test_no_module_of_the_domain_reads_a_clock_or_a_file(module):
    source = Path(FOLDER, *module.split(".")[2:]).with_suffix(".py").read_text()
    imported = {
        line.split()[1].split(".")[0]
        for line in source.splitlines()
        if line.startswith(("import ", "from "))
    }
    assert not imported & {"time", "datetime", "os", "io", "pathlib", "socket", "logging"}
    assert "open(" not in source

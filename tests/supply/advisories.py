"""Ask pip-audit which packages of the locks have known vulnerabilities, and say what is not known.

pip-audit asks the registry, or the OSV service. ``ADVISORIES=FOLDER`` answers where there is no
network, with the files of a copy of either data set (docs/dependencies.md says how to get one).
A vulnerability that does not reach Cutline stands in pyproject.toml, with the reason.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.supply.osv_folder import OsvFolder
from tests.supply.requirements import FILES, ROOT

SECONDS = 30.0
"""All questions together may take this long. Whether a service answers at all is asked first."""

SERVICES = {
    "the registry": ["--vulnerability-service", "pypi"],
    "OSV": ["--vulnerability-service", "osv"],
}

AUDIT = [
    *(sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "--format", "json"),
    *("--progress-spinner", "off", "--desc", "off", "--timeout", "3"),
]


@dataclass
class Report:
    """What a service tells of packages; ``reason`` says why it told nothing."""

    vulnerable: list[str] = field(default_factory=list)
    clean: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    reason: str = ""


def check(root: Path = ROOT) -> tuple[str, bool]:
    """Return what is known, as lines to print, and whether no vulnerability is known."""
    if folder := os.environ.get("ADVISORIES"):
        with OsvFolder(Path(folder)) as data:
            report = ask(["--vulnerability-service", "osv", "--osv-url", data.url], root)
            return said(report, f"{data.count} advisories in {folder}, the newest of {data.newest}")
    reasons = []
    for name, options in SERVICES.items():
        report = _of_one(options)
        if not report.reason:
            return said(ask(options, root), name)
        reasons.append(f"{name}: {report.reason}")
    return said(Report(reason="; ".join(reasons)), "")


def ask(options: Sequence[str], root: Path = ROOT, seconds: float = SECONDS) -> Report:
    """Return what pip-audit tells of all locks within so many seconds."""
    return _audit([root / lock for lock in FILES.values()], [*options, *_accepted(root)], seconds)


def _of_one(options: Sequence[str]) -> Report:
    """Return what is told of Django 5.0, which has known vulnerabilities: is there such data?

    A mirror of the registry may answer about a package without its vulnerabilities.
    """
    with TemporaryDirectory() as folder:
        one = Path(folder) / "one.txt"
        one.write_text("django==5.0\n")
        report = _audit([one], options, 15)
    if not report.reason and not report.vulnerable:
        report.reason = "it knows none of Django 5.0, so it has no such data"
    return report


def _accepted(root: Path) -> list[str]:
    tools = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    accepted = tools.get("cutline", {}).get("accepted-vulnerabilities", {})
    return [part for name in accepted for part in ("--ignore-vuln", name)]


def _audit(files: list[Path], options: Sequence[str], seconds: float) -> Report:
    command = [*AUDIT, *options, *(part for file in files for part in ("--requirement", str(file)))]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        return _sorted(json.loads(ran.stdout)["dependencies"])
    except subprocess.TimeoutExpired:
        return Report(reason=f"no answer within {seconds:g} s")
    except (ValueError, KeyError):
        return Report(reason=(ran.stderr.strip().splitlines() or ["no answer"])[-1])


def _sorted(answered: list[dict]) -> Report:
    """Sort the packages. What pip-audit could not ask about, it only calls skipped."""
    report = Report()
    for each in answered:
        if "skip_reason" in each:
            report.unknown.append(each["name"])
        elif each["vulns"]:
            report.vulnerable += [_sentence(each, found) for found in each["vulns"]]
        else:
            report.clean.append(each["name"])
    return report


def _sentence(package: dict, found: dict) -> str:
    names = ", ".join([found["id"], *found.get("aliases", [])])
    mended = ", ".join(found["fix_versions"]) or "no version yet"
    return f"{package['name']} {package['version']}: {names}; mended in {mended}."


def said(report: Report, source: str) -> tuple[str, bool]:
    """Return a report in words, and whether no vulnerability is known."""
    if report.reason or not (report.clean or report.vulnerable):
        reason = report.reason or f"{source} has none about these packages"
        return f"Known vulnerabilities: not known. No data could be reached ({reason}).", True
    lines = [f"Known vulnerabilities, by {source}: {len(report.vulnerable) or 'none'}"]
    lines[0] += f" in {len(report.clean)} packages." if not report.vulnerable else "."
    lines += [f"  {each}" for each in report.vulnerable]
    if report.unknown:
        lines.append(f"Not known for {len(report.unknown)}: {', '.join(report.unknown)}.")
    return "\n".join(lines), not report.vulnerable

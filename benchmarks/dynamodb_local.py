"""Amazon's DynamoDB Local: fetched by Maven on first use, kept in the cache folder, never part of the repository.

    pom.xml  ->  mvn dependency:copy-dependencies  ->  .bench-cache/dynamodb-local-VERSION/*.jar, *.so  ->  java

Maven asks the repositories that it is set up for. Who runs this accepts Amazon's license, which is in the jar and wants
an AWS account. Nothing is sent to Amazon (`-disableTelemetry`). The server has no option for its address: it listens on
all of them, for as long as a run takes. Each access key and region has tables of its own there.
"""

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.cache import CACHE
from benchmarks.report import progress

NAMES = ON_FILE, IN_MEMORY = "DynamoDB Local, file", "DynamoDB Local, memory"
VERSION = "3.3.1"
# It names an SDK that is not whole in every mirror; a later one of the same major version is.
SDK_VERSION = "2.54.15"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
FETCH_TIMEOUT = 600
MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"
# A heap that it never has to grow, and the collector that took the least processor time for a request.
JVM = ["-Xms1g", "-Xmx1g", "-XX:+UseParallelGC"]

POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>benchmarks</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <dependencyManagement>
    <dependencies>
      <dependency>
        <groupId>software.amazon.awssdk</groupId>
        <artifactId>bom</artifactId>
        <version>{SDK_VERSION}</version>
        <type>pom</type>
        <scope>import</scope>
      </dependency>
    </dependencies>
  </dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


class NotHereError(Exception):
    """It cannot be had on this machine; the text says why."""


def command(data: Path | None = None) -> list[str]:
    """Starts it, but for `--port`: with its data in a folder, or in memory. Fetches it if need be."""
    java = shutil.which("java")
    if java is None:
        raise NotHereError("java is not installed")
    if platform.machine() not in ("x86_64", "AMD64"):
        raise NotHereError(f"its SQLite for {platform.machine()} is not in Maven's repositories")
    libraries = fetched()
    if data is None:
        kept = ["-inMemory"]
    else:
        data.mkdir(parents=True, exist_ok=True)
        kept = ["-dbPath", str(data)]
    return [
        java,
        *JVM,
        f"-Djava.library.path={libraries}",
        "-cp",
        str(libraries / "*"),
        MAIN,
        *kept,
        "-disableTelemetry",
    ]


def fetched() -> Path:
    """The folder of its libraries. It appears whole or not at all."""
    folder = CACHE / f"dynamodb-local-{VERSION}"
    if folder.exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise NotHereError("mvn, which fetches it, is not installed")
    progress("fetching DynamoDB Local")
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=CACHE) as name:
        project = Path(name)
        (project / "pom.xml").write_text(POM)
        arguments = [maven, "-B", "-q", COPY, "-DincludeScope=runtime", f"-DoutputDirectory={project / 'libraries'}"]
        try:
            done = subprocess.run(
                arguments, cwd=project, capture_output=True, text=True, timeout=FETCH_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise NotHereError(f"Maven did not fetch it within {FETCH_TIMEOUT} seconds") from None
        if done.returncode != 0:
            raise NotHereError(f"Maven could not fetch it: {done.stdout.strip()[:400]}")
        if not folder.exists():  # another process may have been faster
            os.rename(project / "libraries", folder)
    return folder

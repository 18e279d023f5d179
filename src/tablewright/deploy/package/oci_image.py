"""An image by the OCI image specification, as a tarball of an image layout; no Docker is needed.

    oci-layout, index.json
    blobs/sha256/...    manifest, configuration, and a layer for each of: the interpreter, the packages

``skopeo copy oci-archive:image.tar docker://...`` puts it into a registry. The same files make the same bytes: entries
are sorted, and have no times. A container runs as a user without rights, which may write to its volume and to /tmp.
The interpreter is that of this machine with the libraries that it loads, so an image is for the processor that it was
built on.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tablewright.deploy.package.package_files import Files
from tablewright.deploy.package.wheels import PackageError

__all__ = ["interpreter_files", "own_architecture", "write_image"]

PACKAGES = "opt/packages"
_PYTHON = "opt/python"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
# Of the standard library, what no server uses.
_UNUSED = frozenset(
    {"__pycache__", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tests", "tkinter", "turtledemo"}
)
# What wheels may load, beside what they bring along.
_FOR_WHEELS = (
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libnss_dns.so.2",
    "libnss_files.so.2",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libstdc++.so.6",
    "libutil.so.1",
    "libz.so.1",
)
_USER = 65532
# Where a container keeps its data: a volume, which has the owner of the folder that it is mounted over.
DATA = "data"
# The folders that a container writes to: their modes and owners.
_FOLDERS = {DATA: (0o700, _USER), "tmp": (0o1777, 0)}
_GO_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}


def own_architecture() -> str:
    machine = platform.machine().lower()
    return "arm64" if machine in ("aarch64", "arm64") else "x86_64"


def interpreter_files() -> tuple[Files, dict[str, str]]:
    """This machine's Python with its standard library and the libraries that it loads; and links, to what they lead."""
    if sys.platform != "linux":
        raise PackageError("an image contains the Python of the machine that builds it: build it on Linux")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found: Files = {}
    links: dict[str, str] = {}
    library = Path(sysconfig.get_path("stdlib"))
    for file in sorted(library.rglob("*")):
        steps = file.relative_to(library).parts
        is_config = any(step.startswith("config-") for step in steps)
        if file.name.startswith("_tkinter"):
            continue
        if file.is_file() and not _UNUSED.intersection(steps) and not is_config and file.suffix not in (".pyc", ".a"):
            found[f"{_PYTHON}/lib/{version}/{'/'.join(steps)}"] = file.read_bytes()
    executable = Path(sys.executable).resolve()
    found[f"{_PYTHON}/bin/{version}"] = executable.read_bytes()
    links[f"{_PYTHON}/bin/python"] = version
    extensions = sorted(path for path in (library / "lib-dynload").glob("*.so") if "_tkinter" not in path.name)
    for path in _libraries([executable, *extensions]):
        found[str(path).lstrip("/")] = path.read_bytes()
    for authorities in (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/pki/tls/certs/ca-bundle.crt")):
        if authorities.is_file():
            found["etc/ssl/certs/ca-certificates.crt"] = authorities.read_bytes()
    found["etc/passwd"] = f"app:x:{_USER}:{_USER}::/tmp:/sbin/nologin\n".encode()
    found["etc/group"] = f"app:x:{_USER}:\n".encode()
    return found, links


def _libraries(programs: list[Path]) -> list[Path]:
    """The shared libraries that programs load, by the names that they load them by."""
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, timeout=60)
    paths = re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE)
    found = {Path(path) for path in paths}
    folders = {path.parent for path in found if path.name.startswith("libc.so")}
    beside = {folder / name for folder in folders for name in _FOR_WHEELS}
    return sorted({*found, *(path for path in beside if path.is_file())})


def write_image(
    layers: list[tuple[Files, Mapping[str, str]]],
    path: Path,
    *,
    architecture: str,
    entrypoint: list[str],
    command: list[str],
    variables: Mapping[str, str],
) -> str:
    """Write an image of some layers; its digest."""
    blobs: Files = {}
    described, diffs = [], []
    for number, (files, links) in enumerate(layers):
        plain = _tar(files, links, _FOLDERS if number == 0 else {})
        diffs.append(f"sha256:{hashlib.sha256(plain).hexdigest()}")
        described.append(_blob(blobs, gzip.compress(plain, 6, mtime=0), _LAYER))
    config = {
        "architecture": _GO_ARCHITECTURES[architecture],
        "os": "linux",
        "config": {
            "User": f"{_USER}:{_USER}",
            "Env": [f"{name}={value}" for name, value in variables.items()],
            "Entrypoint": entrypoint,
            "Cmd": command,
            "WorkingDir": "/tmp",
            "ExposedPorts": {"8080/tcp": {}},
            "Volumes": {f"/{DATA}": {}},
        },
        "rootfs": {"type": "layers", "diff_ids": diffs},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _blob(blobs, _json(config), _CONFIG),
        "layers": described,
    }
    where = {"architecture": config["architecture"], "os": "linux"}
    listed = {**_blob(blobs, _json(manifest), _MANIFEST), "platform": where}
    content: Files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "mediaType": _INDEX, "manifests": [listed]}),
        **blobs,
    }
    path.write_bytes(_tar(content, {}, {}))
    return str(listed["digest"])


def _json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _blob(blobs: Files, content: bytes, kind: str) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    blobs[f"blobs/sha256/{digest}"] = content
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}


def _tar(files: Files, links: Mapping[str, str], writable: Mapping[str, tuple[int, int]]) -> bytes:
    """A tar of files and links with the folders that they are in, and of folders with modes and owners; no times."""
    out = io.BytesIO()
    names = [*files, *links]
    folders = {str(parent) for name in names for parent in Path(name).parents if str(parent) != "."}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted({*folders, *names, *writable}):
            entry = tarfile.TarInfo(name)
            if name in links:
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, links[name], 0o777
                archive.addfile(entry)
            elif name in files:
                is_program = "/bin/" in name or ".so" in Path(name).name
                entry.size, entry.mode = len(files[name]), 0o755 if is_program else 0o644
                archive.addfile(entry, io.BytesIO(files[name]))
            else:
                entry.type = tarfile.DIRTYPE
                entry.mode, owner = writable.get(name, (0o755, 0))
                entry.uid = entry.gid = owner
                archive.addfile(entry)
    return out.getvalue()

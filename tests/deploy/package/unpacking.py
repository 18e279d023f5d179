"""Reads images as a container runtime does: by digests, layer over layer."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from tablewright.deploy.package.oci_image import write_image


def write_small_image(path: Path) -> str:
    return write_image(
        [
            ({"opt/python/bin/python3": b"#!"}, {"opt/python/bin/python": "python3"}),
            ({"opt/packages/a.py": b"print('a')\n"}, {}),
        ],
        path,
        architecture="arm64",
        entrypoint=["/opt/python/bin/python"],
        command=["a.py"],
        variables={"PYTHONPATH": "/opt/packages"},
    )


def unpack_image(path: Path, root: Path) -> dict[str, Any]:
    """Unpack an image into a folder, checking every size and digest on the way; its configuration."""
    with tarfile.open(path) as archive:

        def read(name: str) -> bytes:
            file = archive.extractfile(name)
            assert file is not None
            return file.read()

        def blob(described: dict[str, Any]) -> bytes:
            kind, _, digest = described["digest"].partition(":")
            assert kind == "sha256"
            content = read(f"blobs/sha256/{digest}")
            assert (len(content), hashlib.sha256(content).hexdigest()) == (described["size"], digest)
            return content

        assert json.loads(read("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
        index = json.loads(read("index.json"))
        assert (index["schemaVersion"], index["mediaType"]) == (2, "application/vnd.oci.image.index.v1+json")
        (listed,) = index["manifests"]
        assert listed["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
        manifest = json.loads(blob(listed))
        assert manifest["schemaVersion"] == 2
        config: dict[str, Any] = json.loads(blob(manifest["config"]))
        assert config["rootfs"]["type"] == "layers"
        root.mkdir()
        for described, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            plain = gzip.decompress(blob(described))
            assert f"sha256:{hashlib.sha256(plain).hexdigest()}" == diff
            with tarfile.open(fileobj=io.BytesIO(plain)) as layer:
                layer.extractall(root, filter="fully_trusted")
    return config

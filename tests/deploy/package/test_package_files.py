"""Zips and images: the same bytes from the same files, and only what is needed."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tablewright.deploy.package import function_zip
from tablewright.deploy.package.bytecode import compiled
from tablewright.deploy.package.function_zip import write_zip
from tablewright.deploy.package.package_files import wheel_files
from tablewright.deploy.package.wheels import PackageError, pinned
from tests.deploy.package.unpacking import unpack_image, write_small_image

pytestmark = pytest.mark.requirement("SH2")


def test_a_zip_is_the_same_bytes_whatever_the_order_and_the_time(tmp_path: Path) -> None:
    files = {"b/a.py": b"b = 1\n", "a.py": b"a = 1\n"}
    assert write_zip(files, tmp_path / "one.zip") == 12
    write_zip(dict(reversed(files.items())), tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == ["a.py", "b/a.py"]
        assert archive.read("b/a.py") == b"b = 1\n"
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100644}


def test_a_package_that_lambda_would_not_take_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_zip, "MAX_UNPACKED", 10)
    with pytest.raises(PackageError, match=r"large.so; use an image"):
        write_zip({"large.so": b"x" * 11}, tmp_path / "package.zip")
    assert not (tmp_path / "package.zip").exists()


def test_of_a_wheel_only_what_is_used_is_taken(tmp_path: Path) -> None:
    wheel = tmp_path / "botocore-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (
            "botocore/__init__.py",
            "botocore/data/endpoints.json",
            "botocore/data/s3/2006-03-01/service-2.json.gz",
            "botocore/data/ec2/2016-11-15/service-2.json.gz",
            "botocore/tests/test_a.py",
            "botocore/fast.pyx",
            "botocore-1.dist-info/METADATA",
            "botocore-1.dist-info/RECORD",
            "botocore-1.data/purelib/extra.py",
            "botocore-1.data/scripts/tool",
        ):
            archive.writestr(name, name)
    assert set(wheel_files([wheel])) == {
        "botocore/__init__.py",
        "botocore/data/endpoints.json",
        "botocore/data/s3/2006-03-01/service-2.json.gz",
        "botocore-1.dist-info/METADATA",
        "extra.py",
    }


def test_sources_are_compiled_to_the_same_bytes_each_time_and_need_no_time_of_their_sources(tmp_path: Path) -> None:
    files = {
        "a/__init__.py": b"NAMES = {'x', 'y', 'z'}\ndef f(name):\n    return name in {'p', 'q', 'r', 's'}\n",
        "broken.py": b"def (:\n",
        "data.json": b"{}",
    }
    made = compiled(files)
    tag = sys.implementation.cache_tag
    assert list(made) == [f"a/__pycache__/__init__.{tag}.pyc"]
    assert compiled(dict(reversed(files.items()))) == made
    # Unchecked: the second word of a file says so, and that it has a hash of its source.
    assert made[f"a/__pycache__/__init__.{tag}.pyc"][4:8] == b"\x01\x00\x00\x00"


def test_requirements_are_those_of_this_environment_with_what_they_require() -> None:
    found = {each.partition("==")[0] for each in pinned(["fastapi"])}
    assert {"fastapi", "starlette", "pydantic", "anyio"} <= found
    assert "uvicorn" not in found
    with pytest.raises(PackageError, match="install it"):
        pinned(["a-distribution-that-nobody-has"])


def test_an_image_is_an_oci_layout_whose_digests_hold_and_is_the_same_again(tmp_path: Path) -> None:
    digest = write_small_image(tmp_path / "one.tar")
    assert write_small_image(tmp_path / "two.tar") == digest
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    root = tmp_path / "root"
    config = unpack_image(tmp_path / "one.tar", root)
    assert (root / "opt" / "packages" / "a.py").read_bytes() == b"print('a')\n"
    assert (root / "opt" / "python" / "bin" / "python").readlink() == Path("python3")
    assert config["config"]["Entrypoint"] == ["/opt/python/bin/python"]
    assert config["config"]["User"] == "65532:65532"
    assert config["config"]["Volumes"] == {"/data": {}}
    assert stat.S_IMODE((root / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "tmp").stat().st_mode) == 0o1777
    assert (config["os"], config["architecture"]) == ("linux", "arm64")


def test_a_changed_layer_is_noticed_by_who_unpacks(tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    write_small_image(path)
    with tarfile.open(path) as archive:
        index = json.load(archive.extractfile("index.json"))  # type: ignore[arg-type]
        names = archive.getnames()
    listed = index["manifests"][0]["digest"].removeprefix("sha256:")
    assert f"blobs/sha256/{listed}" in names
    content = path.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.name.startswith("blobs/sha256/") and member.isfile():
                blob = archive.extractfile(member)
                assert blob is not None
                assert hashlib.sha256(blob.read()).hexdigest() == Path(member.name).name

"""Blobs in a bucket of S3, or of any other server of its protocol.

An object is put in one request, which S3 takes or refuses entirely, and reads are strongly consistent, so everyone can
read a blob once its put has returned. The store does the retries, as with DynamoDB.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tablewright.store.blobs.blob_store import REFUSED, BlobEntry, checked_name
from tablewright.store.errors import ServiceError

_NOT_FOUND = frozenset({"NoSuchKey", "404", "NotFound"})

# S3's codes of temporary failures, and DynamoDB's for the same.
_TEMPORARY = {
    "SlowDown": "ThrottlingException",
    "RequestTimeout": "ConnectionError",
    "RequestTimeTooSkewed": "ConnectionError",
    "InternalError": "InternalServerError",
    "OperationAborted": "InternalServerError",
    "ServiceUnavailable": "ServiceUnavailable",
}

_CONNECT_SECONDS, _READ_SECONDS = 5, 60
_MAX_KEYS_PER_REQUEST = 1000


class S3BlobStore:
    """Blobs in a bucket, under a prefix. Options are botocore's (``aws_access_key_id``).

    A prefix belongs to one database: two databases with tables of the same name need two prefixes.
    """

    concurrency = 16

    def __init__(
        self, bucket: str, prefix: str = "", *, region: str | None = None, endpoint: str | None = None, **options: Any
    ) -> None:
        if not bucket:
            raise ValueError("S3 needs a bucket: s3://bucket/prefix")
        self.bucket = bucket
        self.prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self._arguments = {"region_name": region, "endpoint_url": endpoint, **options}

    @cached_property
    def _client(self) -> Any:
        """Created on first use: most requests read and write no large value, and creating it takes a while."""
        import botocore.session
        from botocore.config import Config

        config = Config(
            retries={"total_max_attempts": 1},
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            max_pool_connections=self.concurrency,
        )
        if self._arguments.get("config") is not None:
            config = config.merge(self._arguments["config"])
        return botocore.session.Session().create_client("s3", **{**self._arguments, "config": config})

    def __repr__(self) -> str:
        return f"S3BlobStore({self.bucket!r}, {self.prefix!r})"

    def put(self, name: str, data: bytes) -> None:
        self._call("put_object", Key=self._key(name), Body=data, ContentType="application/octet-stream")

    def get(self, name: str) -> bytes | None:
        return self._read(name)

    def head(self, name: str, length: int) -> bytes | None:
        return self._read(name, Range=f"bytes=0-{length - 1}")

    def _read(self, name: str, **how: Any) -> bytes | None:
        response = self._call("get_object", Key=self._key(name), **how)
        return None if response is None else response["Body"]

    def delete(self, name: str) -> None:
        self._call("delete_object", Key=self._key(name))

    def entries(self, prefix: str, after: str | None, limit: int) -> list[BlobEntry]:
        how = {"Prefix": self.prefix + prefix, "MaxKeys": min(limit, _MAX_KEYS_PER_REQUEST)}
        if after is not None:
            how["StartAfter"] = self.prefix + after
        response = self._call("list_objects_v2", **how)
        found = () if response is None else response.get("Contents", ())
        return [BlobEntry(member["Key"].removeprefix(self.prefix), member["Size"]) for member in found]

    def _key(self, name: str) -> str:
        return self.prefix + checked_name(name)

    def _call(self, method: str, **request: Any) -> Any:
        """The response, with its body read; None for an object that does not exist."""
        from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

        try:
            response = getattr(self._client, method)(Bucket=self.bucket, **request)
            if "Body" in response:
                response["Body"] = response["Body"].read()
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code in _NOT_FOUND:
                return None
            if code.isdecimal() and int(code) >= 500:
                raise ServiceError(code, str(error)) from None
            raise ServiceError(_TEMPORARY.get(code, REFUSED), f"{self}: {error}") from None
        except (ConnectionError, HTTPClientError) as error:
            raise ServiceError("ConnectionError", f"{self}: {error}") from error
        except BotoCoreError as error:
            raise ServiceError(REFUSED, f"{self}: {error}") from error
        return response

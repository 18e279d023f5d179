"""A stream with several open shards at once, as a busy table has on Amazon DynamoDB, made of one that has one."""

from __future__ import annotations

from zlib import crc32

import orjson

from tablewright.store.flow.driver import Backend, Request, Response


class SplitStream:
    """A backend whose streams have ``number`` shards for each of the backend's: keys are spread over them."""

    def __init__(self, backend: Backend, number: int) -> None:
        self.backend = backend
        self.number = number

    def call(self, request: Request) -> Response:
        body = request.body
        if request.operation == "DescribeStream":
            response = self.backend.call(request)
            description = response["StreamDescription"]
            shards = [
                {
                    **shard,
                    "ShardId": f"{shard['ShardId']}-{part}",
                    **({"ParentShardId": f"{shard['ParentShardId']}-{part}"} if "ParentShardId" in shard else {}),
                }
                for shard in description["Shards"]
                for part in range(self.number)
            ]
            return {**response, "StreamDescription": {**description, "Shards": shards}}
        if request.operation == "GetShardIterator":
            shard, _, part = body["ShardId"].rpartition("-")
            response = self.backend.call(Request(request.operation, {**body, "ShardId": shard}))
            return {"ShardIterator": f"{part}|{response['ShardIterator']}"}
        if request.operation == "GetRecords":
            part, _, iterator = body["ShardIterator"].partition("|")
            response = self.backend.call(Request(request.operation, {**body, "ShardIterator": iterator}))
            mine = [each for each in response["Records"] if self.part_of(each["dynamodb"]["Keys"]) == int(part)]
            following = response.get("NextShardIterator")
            return {**response, "Records": mine, "NextShardIterator": following and f"{part}|{following}"}
        return self.backend.call(request)

    def part_of(self, key: object) -> int:
        return crc32(orjson.dumps(key, option=orjson.OPT_SORT_KEYS)) % self.number

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...

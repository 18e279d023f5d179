// The session with the AWS SDK for JavaScript 3: every operation once, errors, paginators, waiters and streams.
const {
  DynamoDB,
  paginateListTables,
  paginateQuery,
  paginateScan,
  waitUntilTableExists,
  waitUntilTableNotExists,
  ...errors
} = require("@aws-sdk/client-dynamodb");
const { DynamoDBStreams, ...streamErrors } = require("@aws-sdk/client-dynamodb-streams");

const settings = {
  endpoint: process.argv[2],
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
};
const db = new DynamoDB(settings);
const streams = new DynamoDBStreams(settings);
const TableName = "orders";

const say = (step, ...facts) => console.log(`${step}:`, ...facts);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const order = (number) => ({ customer: { S: "ann" }, number: { N: String(number) } });
const numbers = (items) => items.map((item) => item.number.N).join(",");
const until = (wait, table) => wait({ client: db, minDelay: 1, maxWaitTime: 30 }, { TableName: table });

async function refused(call, kind) {
  try {
    await call;
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

async function counted(pages) {
  let items = 0;
  let count = 0;
  for await (const page of pages) {
    items += page.Count;
    count += 1;
  }
  return [items, "items in", count, "pages"];
}

async function tables() {
  const table = {
    TableName,
    KeySchema: [
      { AttributeName: "customer", KeyType: "HASH" },
      { AttributeName: "number", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "customer", AttributeType: "S" },
      { AttributeName: "number", AttributeType: "N" },
      { AttributeName: "status", AttributeType: "S" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: "by_status",
        KeySchema: [{ AttributeName: "status", KeyType: "HASH" }],
        Projection: { ProjectionType: "ALL" },
      },
    ],
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
    BillingMode: "PAY_PER_REQUEST",
  };
  const created = (await db.createTable(table)).TableDescription;
  say("CreateTable", created.TableStatus);
  await until(waitUntilTableExists, TableName);
  say("TableExists", "yes");
  const described = (await db.describeTable({ TableName })).Table;
  const keys = described.KeySchema.map((key) => `${key.AttributeName} ${key.KeyType}`).join(",");
  const [index] = described.GlobalSecondaryIndexes;
  say("DescribeTable", described.TableStatus, keys, index.IndexName, index.IndexStatus);
  say("ResourceInUseException", (await refused(db.createTable(table), errors.ResourceInUseException)).message);
  return created.TableArn;
}

async function items() {
  const item = {
    customer: { S: "ann" },
    number: { N: "1.50" },
    status: { S: "open" },
    text: { S: "café" },
    binary: { B: new Uint8Array([0, 255]) },
    flag: { BOOL: true },
    nothing: { NULL: true },
    words: { SS: ["b", "a"] },
    numbers: { NS: ["2", "1"] },
    bytes: { BS: [new Uint8Array([1])] },
    list: { L: [{ S: "x" }, { N: "7" }] },
    map: { M: { city: { S: "Bern" } } },
  };
  const put = await db.putItem({ TableName, Item: item, ReturnConsumedCapacity: "TOTAL" });
  say("PutItem", put.ConsumedCapacity.CapacityUnits.toFixed(1), "units");
  const Key = { customer: { S: "ann" }, number: { N: "1.5" } };
  const answer = await db.getItem({ TableName, Key, ConsistentRead: true });
  const got = answer.Item;
  say(
    "GetItem",
    got.number.N,
    got.text.S,
    hex(got.binary.B),
    got.flag.BOOL,
    got.nothing.NULL,
    got.words.SS.sort().join(","),
    got.numbers.NS.sort().join(","),
    hex(got.bytes.BS[0]),
    `${got.list.L[0].S},${got.list.L[1].N}`,
    got.map.M.city.S,
  );
  say("RequestId", answer.$metadata.requestId.length);
  const updated = await db.updateItem({
    TableName,
    Key,
    UpdateExpression: "SET #s = :s ADD revision :one",
    ExpressionAttributeNames: { "#s": "status" },
    ExpressionAttributeValues: { ":s": { S: "done" }, ":one": { N: "1" } },
    ReturnValues: "UPDATED_NEW",
  });
  say("UpdateItem", updated.Attributes.status.S, updated.Attributes.revision.N);
  const failed = await refused(
    db.putItem({
      TableName,
      Item: Key,
      ConditionExpression: "attribute_not_exists(customer)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    }),
    errors.ConditionalCheckFailedException,
  );
  say("ConditionalCheckFailedException", `${failed.message};`, failed.Item.status.S);
  const deleted = await db.deleteItem({ TableName, Key, ReturnValues: "ALL_OLD" });
  say("DeleteItem", deleted.Attributes.status.S);
  const invalid = await refused(
    db.putItem({ TableName, Item: { customer: { S: "ann" } } }),
    errors.DynamoDBServiceException,
  );
  say(invalid.name, invalid.message);
  const missing = await refused(db.getItem({ TableName: "missing", Key }), errors.ResourceNotFoundException);
  say("ResourceNotFoundException", missing.message);
}

async function pages() {
  const puts = Array.from({ length: 20 }, (_, n) => ({
    PutRequest: { Item: { ...order(n + 1), status: { S: (n + 1) % 4 ? "open" : "done" } } },
  }));
  const written = await db.batchWriteItem({ RequestItems: { orders: puts } });
  say("BatchWriteItem", Object.keys(written.UnprocessedItems).length, "unprocessed");
  const some = await db.batchGetItem({ RequestItems: { orders: { Keys: [order(1), order(2), order(3)] } } });
  say("BatchGetItem", numbers(some.Responses.orders).split(",").sort().join(","));
  const query = {
    TableName,
    KeyConditionExpression: "customer = :c",
    ExpressionAttributeValues: { ":c": { S: "ann" } },
  };
  say("Query", ...(await counted(paginateQuery({ client: db, pageSize: 7 }, query))));
  const indexed = await db.query({
    TableName,
    IndexName: "by_status",
    KeyConditionExpression: "#s = :s",
    ExpressionAttributeNames: { "#s": "status" },
    ExpressionAttributeValues: { ":s": { S: "done" } },
  });
  say("Query", indexed.Count, "in the index");
  say("Scan", ...(await counted(paginateScan({ client: db, pageSize: 8 }, { TableName }))));
}

const transaction = (number) => ({
  ClientRequestToken: "once",
  ReturnConsumedCapacity: "TOTAL",
  TransactItems: [
    { Put: { TableName, Item: order(number) } },
    {
      Update: {
        TableName,
        Key: order(1),
        UpdateExpression: "SET note = :n",
        ExpressionAttributeValues: { ":n": { S: "first" } },
      },
    },
    { Delete: { TableName, Key: order(20) } },
    { ConditionCheck: { TableName, Key: order(2), ConditionExpression: "attribute_exists(customer)" } },
  ],
});

async function transactions() {
  const written = await db.transactWriteItems(transaction(21));
  say("TransactWriteItems", written.ConsumedCapacity[0].TableName);
  const mismatch = await refused(
    db.transactWriteItems(transaction(22)),
    errors.IdempotentParameterMismatchException,
  );
  say("IdempotentParameterMismatchException", mismatch.message ?? mismatch.Message);
  const both = await db.transactGetItems({
    TransactItems: [{ Get: { TableName, Key: order(21) } }, { Get: { TableName, Key: order(20) } }],
  });
  say("TransactGetItems", both.Responses.map((each) => each.Item?.number.N ?? "none").join(","));
  const canceled = await refused(
    db.transactWriteItems({
      TransactItems: [
        { Delete: { TableName, Key: order(2) } },
        {
          Put: {
            TableName,
            Item: order(3),
            ConditionExpression: "attribute_not_exists(customer)",
            ReturnValuesOnConditionCheckFailure: "ALL_OLD",
          },
        },
      ],
    }),
    errors.TransactionCanceledException,
  );
  const codes = canceled.CancellationReasons.map((reason) => reason.Code).join(",");
  say("TransactionCanceledException", codes, canceled.CancellationReasons[1].Item.status.S);
}

async function statements() {
  const one = 'SELECT "number" FROM "orders" WHERE customer = ? AND "number" = ?';
  const parameters = (number) => [{ S: "ann" }, { N: number }];
  const selected = await db.executeStatement({
    Statement: one.replace('"number" = ?', '"number" > ?'),
    Parameters: parameters("18"),
  });
  say("ExecuteStatement", numbers(selected.Items));
  const duplicate = await refused(
    db.executeStatement({ Statement: "INSERT INTO \"orders\" VALUE {'customer': 'ann', 'number': 1}" }),
    errors.DuplicateItemException,
  );
  say("DuplicateItemException", duplicate.message);
  const members = await db.batchExecuteStatement({
    Statements: [
      { Statement: one, Parameters: parameters("21") },
      { Statement: one.replace("orders", "missing"), Parameters: parameters("21") },
    ],
  });
  say("BatchExecuteStatement", `${members.Responses[0].Item.number.N},${members.Responses[1].Error.Code}`);
  const done = await db.executeTransaction({
    TransactStatements: ["2", "1"].map((number) => ({ Statement: one, Parameters: parameters(number) })),
  });
  say("ExecuteTransaction", numbers(done.Responses.map((each) => each.Item)));
}

async function tableSettings(ResourceArn) {
  const grown = await db.updateTable({
    TableName,
    AttributeDefinitions: [{ AttributeName: "day", AttributeType: "S" }],
    GlobalSecondaryIndexUpdates: [
      {
        Create: {
          IndexName: "by_day",
          KeySchema: [{ AttributeName: "day", KeyType: "HASH" }],
          Projection: { ProjectionType: "KEYS_ONLY" },
        },
      },
    ],
  });
  const indexes = grown.TableDescription.GlobalSecondaryIndexes.map((index) => index.IndexName);
  say("UpdateTable", indexes.sort().join(","));
  await until(waitUntilTableExists, TableName);
  const Tags = [
    { Key: "team", Value: "blue" },
    { Key: "stage", Value: "test" },
  ];
  await db.tagResource({ ResourceArn, Tags });
  say("TagResource", 2);
  await db.untagResource({ ResourceArn, TagKeys: ["stage"] });
  say("UntagResource", 1);
  const tags = (await db.listTagsOfResource({ ResourceArn })).Tags;
  say("ListTagsOfResource", tags.map((tag) => `${tag.Key}=${tag.Value}`).join(","));
  say("DescribeLimits", (await db.describeLimits({})).AccountMaxReadCapacityUnits);
  say("DescribeEndpoints", (await db.describeEndpoints({})).Endpoints.length);
  const set = await db.updateTimeToLive({
    TableName,
    TimeToLiveSpecification: { Enabled: true, AttributeName: "expires" },
  });
  say("UpdateTimeToLive", set.TimeToLiveSpecification.AttributeName);
  const expiry = (await db.describeTimeToLive({ TableName })).TimeToLiveDescription;
  say("DescribeTimeToLive", expiry.TimeToLiveStatus, expiry.AttributeName);
}

async function backups() {
  const backup = (await db.createBackup({ TableName, BackupName: "nightly" })).BackupDetails;
  const { BackupArn } = backup;
  say("CreateBackup", backup.BackupName);
  const detail = (await db.describeBackup({ BackupArn })).BackupDescription;
  say("DescribeBackup", detail.BackupDetails.BackupStatus, detail.SourceTableDetails.ItemCount);
  const listed = (await db.listBackups({ TableName })).BackupSummaries;
  say("ListBackups", listed.map((each) => each.BackupName).join(","));
  const restored = await db.restoreTableFromBackup({ TargetTableName: "orders-copy", BackupArn });
  say("RestoreTableFromBackup", restored.TableDescription.TableName);
  await until(waitUntilTableExists, "orders-copy");
  say("Scan", (await db.scan({ TableName: "orders-copy", Select: "COUNT" })).Count, "restored");
  const deleted = await db.deleteBackup({ BackupArn });
  say("DeleteBackup", deleted.BackupDescription.BackupDetails.BackupStatus);
  const missing = await refused(db.describeBackup({ BackupArn }), errors.BackupNotFoundException);
  say("BackupNotFoundException", missing.message.replace(BackupArn, "ARN"));
  const kept = await db.updateContinuousBackups({
    TableName,
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  });
  const recovery = kept.ContinuousBackupsDescription.PointInTimeRecoveryDescription;
  say("UpdateContinuousBackups", recovery.PointInTimeRecoveryStatus);
  const described = await db.describeContinuousBackups({ TableName });
  say("DescribeContinuousBackups", described.ContinuousBackupsDescription.ContinuousBackupsStatus);
  const again = await db.restoreTableToPointInTime({
    SourceTableName: TableName,
    TargetTableName: "orders-now",
    UseLatestRestorableTime: true,
  });
  say("RestoreTableToPointInTime", again.TableDescription.TableName);
  await until(waitUntilTableExists, "orders-now");
}

async function records() {
  const [stream] = (await streams.listStreams({ TableName })).Streams;
  const { StreamArn } = stream;
  say("ListStreams", stream.TableName);
  const view = (await streams.describeStream({ StreamArn })).StreamDescription;
  say("DescribeStream", view.StreamStatus, view.StreamViewType, view.Shards.length);
  const { ShardIterator } = await streams.getShardIterator({
    StreamArn,
    ShardId: view.Shards[0].ShardId,
    ShardIteratorType: "TRIM_HORIZON",
  });
  say("GetShardIterator", ShardIterator ? "some" : "none");
  const { Records } = await streams.getRecords({ ShardIterator });
  const change = Records[1].dynamodb;
  say(
    "GetRecords",
    Records.length,
    Records.slice(0, 3).map((record) => record.eventName).join(","),
    change.OldImage.status.S,
    change.NewImage.status.S,
    hex(change.NewImage.binary.B),
  );
  const missing = await refused(
    streams.describeStream({ StreamArn: StreamArn.replace("orders", "missing") }),
    streamErrors.ResourceNotFoundException,
  );
  say("ResourceNotFoundException", missing.name);
}

(async () => {
  const arn = await tables();
  await items();
  await pages();
  await transactions();
  await statements();
  await tableSettings(arn);
  await backups();
  const names = [];
  let count = 0;
  for await (const page of paginateListTables({ client: db, pageSize: 2 }, {})) {
    names.push(...page.TableNames);
    count += 1;
  }
  say("ListTables", names.join(","), "in", count, "pages");
  await records();
  let status;
  for (const name of names) {
    status = (await db.deleteTable({ TableName: name })).TableDescription.TableStatus;
  }
  say("DeleteTable", status);
  await until(waitUntilTableNotExists, TableName);
  say("TableNotExists", "yes");
})();

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.waiters.WaiterOverrideConfiguration;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.api.BackoffStrategy;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.*;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.awssdk.services.dynamodb.waiters.DynamoDbWaiter;

/** The session with the AWS SDK for Java 2: every operation once, errors, paginators, waiters and streams. */
public final class Session {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final HexFormat HEX = HexFormat.of();

    private static void say(String step, Object... facts) {
        OUT.println(step + ": " + java.util.Arrays.stream(facts).map(String::valueOf).collect(Collectors.joining(" ")));
    }

    private static <E extends Exception> E refused(Class<E> kind, Runnable call) {
        try {
            call.run();
        } catch (Exception found) {
            return kind.cast(found);
        }
        throw new AssertionError("nothing was refused");
    }

    private static AttributeValue text(String value) {
        return AttributeValue.fromS(value);
    }

    private static AttributeValue number(Object value) {
        return AttributeValue.fromN(String.valueOf(value));
    }

    private static Map<String, AttributeValue> order(int number) {
        return Map.of("customer", text("ann"), "number", number(number));
    }

    private static String joined(java.util.stream.Stream<String> parts) {
        return parts.collect(Collectors.joining(","));
    }

    private static String message(DynamoDbException error) {
        return error.awsErrorDetails().errorMessage();
    }

    public static void main(String[] arguments) {
        URI url = URI.create(arguments[0]);
        var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any"));
        try (
            var http = UrlConnectionHttpClient.create();
            var db = DynamoDbClient.builder().endpointOverride(url).region(Region.US_EAST_1)
                .credentialsProvider(credentials).httpClient(http).build();
            var streams = DynamoDbStreamsClient.builder().endpointOverride(url).region(Region.US_EAST_1)
                .credentialsProvider(credentials).httpClient(http).build();
            var waiter = DynamoDbWaiter.builder().client(db).overrideConfiguration(WaiterOverrideConfiguration.builder()
                .maxAttempts(30).backoffStrategyV2(BackoffStrategy.fixedDelay(Duration.ofMillis(200))).build()).build()
        ) {
            String arn = tables(db, waiter);
            items(db);
            pages(db);
            transactions(db);
            statements(db);
            settings(db, waiter, arn);
            backups(db, waiter);
            List<String> names = new ArrayList<>();
            int pages = 0;
            for (var page : db.listTablesPaginator(r -> r.limit(2))) {
                names.addAll(page.tableNames());
                pages++;
            }
            say("ListTables", String.join(",", names), "in", pages, "pages");
            streams(streams);
            TableStatus status = null;
            for (String name : names) {
                status = db.deleteTable(r -> r.tableName(name)).tableDescription().tableStatus();
            }
            say("DeleteTable", status);
            waiter.waitUntilTableNotExists(r -> r.tableName("orders"));
            say("TableNotExists", "yes");
        }
    }

    private static String tables(DynamoDbClient db, DynamoDbWaiter waiter) {
        var table = CreateTableRequest.builder()
            .tableName("orders")
            .keySchema(
                k -> k.attributeName("customer").keyType(KeyType.HASH),
                k -> k.attributeName("number").keyType(KeyType.RANGE))
            .attributeDefinitions(
                a -> a.attributeName("customer").attributeType("S"),
                a -> a.attributeName("number").attributeType("N"),
                a -> a.attributeName("status").attributeType("S"))
            .globalSecondaryIndexes(i -> i.indexName("by_status")
                .keySchema(k -> k.attributeName("status").keyType(KeyType.HASH))
                .projection(p -> p.projectionType(ProjectionType.ALL)))
            .streamSpecification(s -> s.streamEnabled(true).streamViewType(StreamViewType.NEW_AND_OLD_IMAGES))
            .billingMode(BillingMode.PAY_PER_REQUEST)
            .build();
        var created = db.createTable(table).tableDescription();
        say("CreateTable", created.tableStatus());
        waiter.waitUntilTableExists(r -> r.tableName("orders"));
        say("TableExists", "yes");
        var described = db.describeTable(r -> r.tableName("orders")).table();
        var index = described.globalSecondaryIndexes().get(0);
        var keys = joined(described.keySchema().stream().map(k -> k.attributeName() + " " + k.keyType()));
        say("DescribeTable", described.tableStatus(), keys, index.indexName(), index.indexStatus());
        var error = refused(ResourceInUseException.class, () -> db.createTable(table));
        say("ResourceInUseException", message(error));
        return created.tableArn();
    }

    private static void items(DynamoDbClient db) {
        var item = Map.ofEntries(
            Map.entry("customer", text("ann")),
            Map.entry("number", number("1.50")),
            Map.entry("status", text("open")),
            Map.entry("text", text("café")),
            Map.entry("binary", AttributeValue.fromB(SdkBytes.fromByteArray(new byte[] {0, (byte) 255}))),
            Map.entry("flag", AttributeValue.fromBool(true)),
            Map.entry("nothing", AttributeValue.fromNul(true)),
            Map.entry("words", AttributeValue.fromSs(List.of("b", "a"))),
            Map.entry("numbers", AttributeValue.fromNs(List.of("2", "1"))),
            Map.entry("bytes", AttributeValue.fromBs(List.of(SdkBytes.fromByteArray(new byte[] {1})))),
            Map.entry("list", AttributeValue.fromL(List.of(text("x"), number(7)))),
            Map.entry("map", AttributeValue.fromM(Map.of("city", text("Bern")))));
        var put = db.putItem(r -> r.tableName("orders").item(item).returnConsumedCapacity("TOTAL"));
        say("PutItem", put.consumedCapacity().capacityUnits(), "units");
        var key = Map.of("customer", text("ann"), "number", number("1.5"));
        var answer = db.getItem(r -> r.tableName("orders").key(key).consistentRead(true));
        var got = answer.item();
        say("GetItem",
            got.get("number").n(),
            got.get("text").s(),
            HEX.formatHex(got.get("binary").b().asByteArray()),
            got.get("flag").bool(),
            got.get("nothing").nul(),
            joined(got.get("words").ss().stream().sorted()),
            joined(got.get("numbers").ns().stream().sorted()),
            HEX.formatHex(got.get("bytes").bs().get(0).asByteArray()),
            got.get("list").l().get(0).s() + "," + got.get("list").l().get(1).n(),
            got.get("map").m().get("city").s());
        say("RequestId", answer.responseMetadata().requestId().length());
        var updated = db.updateItem(r -> r.tableName("orders").key(key)
            .updateExpression("SET #s = :s ADD revision :one")
            .expressionAttributeNames(Map.of("#s", "status"))
            .expressionAttributeValues(Map.of(":s", text("done"), ":one", number(1)))
            .returnValues(ReturnValue.UPDATED_NEW)).attributes();
        say("UpdateItem", updated.get("status").s(), updated.get("revision").n());
        var failed = refused(ConditionalCheckFailedException.class, () -> db.putItem(r -> r.tableName("orders").item(key)
            .conditionExpression("attribute_not_exists(customer)")
            .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD)));
        say("ConditionalCheckFailedException", message(failed) + ";", failed.item().get("status").s());
        var deleted = db.deleteItem(r -> r.tableName("orders").key(key).returnValues(ReturnValue.ALL_OLD));
        say("DeleteItem", deleted.attributes().get("status").s());
        var invalid = refused(DynamoDbException.class,
            () -> db.putItem(r -> r.tableName("orders").item(Map.of("customer", text("ann")))));
        say(invalid.awsErrorDetails().errorCode(), message(invalid));
        var missing = refused(ResourceNotFoundException.class, () -> db.getItem(r -> r.tableName("missing").key(key)));
        say("ResourceNotFoundException", message(missing));
    }

    private static void pages(DynamoDbClient db) {
        List<WriteRequest> puts = IntStream.rangeClosed(1, 20).mapToObj(n -> {
            var item = new java.util.HashMap<>(order(n));
            item.put("status", text(n % 4 == 0 ? "done" : "open"));
            return WriteRequest.builder().putRequest(p -> p.item(item)).build();
        }).toList();
        var written = db.batchWriteItem(r -> r.requestItems(Map.of("orders", puts)));
        say("BatchWriteItem", written.unprocessedItems().size(), "unprocessed");
        var keys = KeysAndAttributes.builder().keys(List.of(order(1), order(2), order(3))).build();
        var some = db.batchGetItem(r -> r.requestItems(Map.of("orders", keys))).responses().get("orders");
        say("BatchGetItem", joined(some.stream().map(each -> each.get("number").n()).sorted()));
        int count = 0;
        int pages = 0;
        for (var page : db.queryPaginator(r -> r.tableName("orders").keyConditionExpression("customer = :c")
            .expressionAttributeValues(Map.of(":c", text("ann"))).limit(7))) {
            count += page.count();
            pages++;
        }
        say("Query", count, "items in", pages, "pages");
        var indexed = db.query(r -> r.tableName("orders").indexName("by_status").keyConditionExpression("#s = :s")
            .expressionAttributeNames(Map.of("#s", "status")).expressionAttributeValues(Map.of(":s", text("done"))));
        say("Query", indexed.count(), "in the index");
        count = 0;
        pages = 0;
        for (var page : db.scanPaginator(r -> r.tableName("orders").limit(8))) {
            count += page.count();
            pages++;
        }
        say("Scan", count, "items in", pages, "pages");
    }

    private static TransactWriteItemsRequest transaction(int number) {
        return TransactWriteItemsRequest.builder()
            .clientRequestToken("once")
            .returnConsumedCapacity("TOTAL")
            .transactItems(
                t -> t.put(p -> p.tableName("orders").item(order(number))),
                t -> t.update(u -> u.tableName("orders").key(order(1)).updateExpression("SET note = :n")
                    .expressionAttributeValues(Map.of(":n", text("first")))),
                t -> t.delete(d -> d.tableName("orders").key(order(20))),
                t -> t.conditionCheck(c -> c.tableName("orders").key(order(2))
                    .conditionExpression("attribute_exists(customer)")))
            .build();
    }

    private static void transactions(DynamoDbClient db) {
        var written = db.transactWriteItems(transaction(21));
        say("TransactWriteItems", written.consumedCapacity().get(0).tableName());
        var mismatch = refused(IdempotentParameterMismatchException.class, () -> db.transactWriteItems(transaction(22)));
        say("IdempotentParameterMismatchException", message(mismatch));
        var both = db.transactGetItems(r -> r.transactItems(
            t -> t.get(g -> g.tableName("orders").key(order(21))),
            t -> t.get(g -> g.tableName("orders").key(order(20))))).responses();
        say("TransactGetItems", joined(both.stream().map(each -> each.hasItem() ? each.item().get("number").n() : "none")));
        var canceled = refused(TransactionCanceledException.class, () -> db.transactWriteItems(r -> r.transactItems(
            t -> t.delete(d -> d.tableName("orders").key(order(2))),
            t -> t.put(p -> p.tableName("orders").item(order(3)).conditionExpression("attribute_not_exists(customer)")
                .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD)))));
        var reasons = canceled.cancellationReasons();
        say("TransactionCanceledException", joined(reasons.stream().map(CancellationReason::code)),
            reasons.get(1).item().get("status").s());
    }

    private static void statements(DynamoDbClient db) {
        var one = "SELECT \"number\" FROM \"orders\" WHERE customer = ? AND \"number\" = ?";
        var selected = db.executeStatement(r -> r.statement(one.replace("\"number\" = ?", "\"number\" > ?"))
            .parameters(text("ann"), number(18))).items();
        say("ExecuteStatement", joined(selected.stream().map(each -> each.get("number").n())));
        var duplicate = refused(DuplicateItemException.class, () -> db.executeStatement(
            r -> r.statement("INSERT INTO \"orders\" VALUE {'customer': 'ann', 'number': 1}")));
        say("DuplicateItemException", message(duplicate));
        var members = db.batchExecuteStatement(r -> r.statements(
            s -> s.statement(one).parameters(text("ann"), number(21)),
            s -> s.statement(one.replace("orders", "missing")).parameters(text("ann"), number(21)))).responses();
        say("BatchExecuteStatement", members.get(0).item().get("number").n() + "," + members.get(1).error().code());
        var done = db.executeTransaction(r -> r.transactStatements(
            s -> s.statement(one).parameters(text("ann"), number(2)),
            s -> s.statement(one).parameters(text("ann"), number(1)))).responses();
        say("ExecuteTransaction", joined(done.stream().map(each -> each.item().get("number").n())));
    }

    private static void settings(DynamoDbClient db, DynamoDbWaiter waiter, String arn) {
        var grown = db.updateTable(r -> r.tableName("orders")
            .attributeDefinitions(a -> a.attributeName("day").attributeType("S"))
            .globalSecondaryIndexUpdates(u -> u.create(c -> c.indexName("by_day")
                .keySchema(k -> k.attributeName("day").keyType(KeyType.HASH))
                .projection(p -> p.projectionType(ProjectionType.KEYS_ONLY))))).tableDescription();
        say("UpdateTable", joined(grown.globalSecondaryIndexes().stream().map(each -> each.indexName()).sorted()));
        waiter.waitUntilTableExists(r -> r.tableName("orders"));
        db.tagResource(r -> r.resourceArn(arn)
            .tags(t -> t.key("team").value("blue"), t -> t.key("stage").value("test")));
        say("TagResource", 2);
        db.untagResource(r -> r.resourceArn(arn).tagKeys("stage"));
        say("UntagResource", 1);
        var tags = db.listTagsOfResource(r -> r.resourceArn(arn)).tags();
        say("ListTagsOfResource", joined(tags.stream().map(tag -> tag.key() + "=" + tag.value())));
        say("DescribeLimits", db.describeLimits().accountMaxReadCapacityUnits());
        say("DescribeEndpoints", db.describeEndpoints().endpoints().size());
        var set = db.updateTimeToLive(r -> r.tableName("orders")
            .timeToLiveSpecification(t -> t.enabled(true).attributeName("expires"))).timeToLiveSpecification();
        say("UpdateTimeToLive", set.attributeName());
        var expiry = db.describeTimeToLive(r -> r.tableName("orders")).timeToLiveDescription();
        say("DescribeTimeToLive", expiry.timeToLiveStatus(), expiry.attributeName());
    }

    private static void backups(DynamoDbClient db, DynamoDbWaiter waiter) {
        var backup = db.createBackup(r -> r.tableName("orders").backupName("nightly")).backupDetails();
        say("CreateBackup", backup.backupName());
        var detail = db.describeBackup(r -> r.backupArn(backup.backupArn())).backupDescription();
        say("DescribeBackup", detail.backupDetails().backupStatus(), detail.sourceTableDetails().itemCount());
        var backups = db.listBackups(r -> r.tableName("orders")).backupSummaries();
        say("ListBackups", joined(backups.stream().map(BackupSummary::backupName)));
        var restored = db.restoreTableFromBackup(r -> r.targetTableName("orders-copy").backupArn(backup.backupArn()));
        say("RestoreTableFromBackup", restored.tableDescription().tableName());
        waiter.waitUntilTableExists(r -> r.tableName("orders-copy"));
        say("Scan", db.scan(r -> r.tableName("orders-copy").select(Select.COUNT)).count(), "restored");
        var deleted = db.deleteBackup(r -> r.backupArn(backup.backupArn())).backupDescription();
        say("DeleteBackup", deleted.backupDetails().backupStatus());
        var missing = refused(BackupNotFoundException.class, () -> db.describeBackup(r -> r.backupArn(backup.backupArn())));
        say("BackupNotFoundException", message(missing).replace(backup.backupArn(), "ARN"));
        var kept = db.updateContinuousBackups(r -> r.tableName("orders")
            .pointInTimeRecoverySpecification(p -> p.pointInTimeRecoveryEnabled(true))).continuousBackupsDescription();
        say("UpdateContinuousBackups", kept.pointInTimeRecoveryDescription().pointInTimeRecoveryStatus());
        kept = db.describeContinuousBackups(r -> r.tableName("orders")).continuousBackupsDescription();
        say("DescribeContinuousBackups", kept.continuousBackupsStatus());
        var again = db.restoreTableToPointInTime(
            r -> r.sourceTableName("orders").targetTableName("orders-now").useLatestRestorableTime(true));
        say("RestoreTableToPointInTime", again.tableDescription().tableName());
        waiter.waitUntilTableExists(r -> r.tableName("orders-now"));
    }

    private static void streams(DynamoDbStreamsClient streams) {
        var stream = streams.listStreams(r -> r.tableName("orders")).streams().get(0);
        say("ListStreams", stream.tableName());
        var view = streams.describeStream(r -> r.streamArn(stream.streamArn())).streamDescription();
        say("DescribeStream", view.streamStatus(), view.streamViewType(), view.shards().size());
        var iterator = streams.getShardIterator(r -> r.streamArn(stream.streamArn())
            .shardId(view.shards().get(0).shardId()).shardIteratorType(ShardIteratorType.TRIM_HORIZON)).shardIterator();
        say("GetShardIterator", iterator.isEmpty() ? "none" : "some");
        var records = streams.getRecords(r -> r.shardIterator(iterator)).records();
        var change = records.get(1).dynamodb();
        say("GetRecords", records.size(), joined(records.stream().limit(3).map(each -> each.eventNameAsString())),
            change.oldImage().get("status").s(), change.newImage().get("status").s(),
            HEX.formatHex(change.newImage().get("binary").b().asByteArray()));
        var missing = refused(ResourceNotFoundException.class,
            () -> streams.describeStream(r -> r.streamArn(stream.streamArn().replace("orders", "missing"))));
        say("ResourceNotFoundException", missing.awsErrorDetails().errorCode());
    }
}

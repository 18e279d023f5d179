//! The session with the AWS SDK for Rust: every operation once, errors, paginators, waiters and streams.

use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::create_table::{builders::CreateTableInputBuilder, CreateTableError};
use aws_sdk_dynamodb::operation::describe_backup::DescribeBackupError;
use aws_sdk_dynamodb::operation::execute_statement::ExecuteStatementError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsInputBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::RequestId;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::*;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodbstreams::operation::describe_stream::DescribeStreamError;
use aws_sdk_dynamodbstreams::types::{AttributeValue as StreamValue, ShardIteratorType};
use aws_sdk_dynamodbstreams::Client as StreamsClient;
use std::collections::HashMap;
use std::time::Duration;

type Item = HashMap<String, AttributeValue>;

const ORDERS: &str = "orders";
const WAIT: Duration = Duration::from_secs(30);
const ONE: &str = r#"SELECT "number" FROM "orders" WHERE customer = ? AND "number" = ?"#;

macro_rules! say {
    ($step:expr $(, $fact:expr)*) => {
        println!("{}: {}", $step, [$($fact.to_string()),*].join(" "))
    };
}

/// The error of a call, which has to be of a variant that the SDK has for it.
macro_rules! refused {
    ($call:expr, $variant:path) => {
        match $call.await.unwrap_err().into_service_error() {
            $variant(error) => error,
            other => panic!("{other:?}"),
        }
    };
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn order(value: u32) -> Item {
    Item::from([("customer".into(), text("ann")), ("number".into(), number(value))])
}

fn numbers(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| item["number"].as_n().unwrap().clone()).collect()
}

fn sorted(mut values: Vec<String>) -> String {
    values.sort();
    values.join(",")
}

fn hex(bytes: &Blob) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key_element(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
}

fn definition(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
}

fn projection(kind: ProjectionType) -> Projection {
    Projection::builder().projection_type(kind).build()
}

async fn wait_for(db: &Client, table: &str) {
    db.wait_until_table_exists().table_name(table).wait(WAIT).await.unwrap();
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).unwrap();
    let http = aws_smithy_http_client::Builder::new().build_http();
    let credentials = Credentials::new("any", "any", None, None, "session");
    let db = Client::from_conf(
        aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(credentials.clone())
            .endpoint_url(&url)
            .http_client(http.clone())
            .build(),
    );
    let streams = StreamsClient::from_conf(
        aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(credentials)
            .endpoint_url(&url)
            .http_client(http)
            .build(),
    );
    let arn = tables(&db).await;
    items(&db).await;
    pages(&db).await;
    transactions(&db).await;
    statements(&db).await;
    settings(&db, &arn).await;
    backups(&db).await;
    let mut names = Vec::new();
    let mut count = 0;
    let mut listed = db.list_tables().limit(2).into_paginator().send();
    while let Some(page) = listed.next().await {
        names.extend(page.unwrap().table_names().to_vec());
        count += 1;
    }
    say!("ListTables", names.join(","), "in", count, "pages");
    records(&streams).await;
    let mut status = None;
    for name in &names {
        let deleted = db.delete_table().table_name(name).send().await.unwrap();
        status = deleted.table_description().unwrap().table_status().cloned();
    }
    say!("DeleteTable", status.unwrap());
    db.wait_until_table_not_exists().table_name(ORDERS).wait(WAIT).await.unwrap();
    say!("TableNotExists", "yes");
}

fn table() -> CreateTableInputBuilder {
    CreateTableInputBuilder::default()
        .table_name(ORDERS)
        .key_schema(key_element("customer", KeyType::Hash))
        .key_schema(key_element("number", KeyType::Range))
        .attribute_definitions(definition("customer", ScalarAttributeType::S))
        .attribute_definitions(definition("number", ScalarAttributeType::N))
        .attribute_definitions(definition("status", ScalarAttributeType::S))
        .global_secondary_indexes(
            GlobalSecondaryIndex::builder()
                .index_name("by_status")
                .key_schema(key_element("status", KeyType::Hash))
                .projection(projection(ProjectionType::All))
                .build()
                .unwrap(),
        )
        .stream_specification(
            StreamSpecification::builder()
                .stream_enabled(true)
                .stream_view_type(StreamViewType::NewAndOldImages)
                .build()
                .unwrap(),
        )
        .billing_mode(BillingMode::PayPerRequest)
}

async fn tables(db: &Client) -> String {
    let created = table().send_with(db).await.unwrap();
    let created = created.table_description().unwrap();
    say!("CreateTable", created.table_status().unwrap());
    wait_for(db, ORDERS).await;
    say!("TableExists", "yes");
    let described = db.describe_table().table_name(ORDERS).send().await.unwrap();
    let described = described.table().unwrap();
    let keys: Vec<String> =
        described.key_schema().iter().map(|key| format!("{} {}", key.attribute_name(), key.key_type())).collect();
    let index = &described.global_secondary_indexes()[0];
    say!(
        "DescribeTable",
        described.table_status().unwrap(),
        keys.join(","),
        index.index_name().unwrap(),
        index.index_status().unwrap()
    );
    let error = refused!(table().send_with(db), CreateTableError::ResourceInUseException);
    say!("ResourceInUseException", error.message().unwrap());
    created.table_arn().unwrap().to_string()
}

async fn items(db: &Client) {
    let item = Item::from([
        ("customer".into(), text("ann")),
        ("number".into(), number("1.50")),
        ("status".into(), text("open")),
        ("text".into(), text("café")),
        ("binary".into(), AttributeValue::B(Blob::new([0, 255]))),
        ("flag".into(), AttributeValue::Bool(true)),
        ("nothing".into(), AttributeValue::Null(true)),
        ("words".into(), AttributeValue::Ss(vec!["b".into(), "a".into()])),
        ("numbers".into(), AttributeValue::Ns(vec!["2".into(), "1".into()])),
        ("bytes".into(), AttributeValue::Bs(vec![Blob::new([1])])),
        ("list".into(), AttributeValue::L(vec![text("x"), number(7)])),
        ("map".into(), AttributeValue::M(Item::from([("city".into(), text("Bern"))]))),
    ]);
    let put = db
        .put_item()
        .table_name(ORDERS)
        .set_item(Some(item))
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await
        .unwrap();
    let units = put.consumed_capacity().unwrap().capacity_units().unwrap();
    say!("PutItem", format!("{units:.1}"), "units");
    let key = Item::from([("customer".into(), text("ann")), ("number".into(), number("1.5"))]);
    let answer =
        db.get_item().table_name(ORDERS).set_key(Some(key.clone())).consistent_read(true).send().await.unwrap();
    let got = answer.item().unwrap();
    let list = got["list"].as_l().unwrap();
    say!(
        "GetItem",
        got["number"].as_n().unwrap(),
        got["text"].as_s().unwrap(),
        hex(got["binary"].as_b().unwrap()),
        got["flag"].as_bool().unwrap(),
        got["nothing"].as_null().unwrap(),
        sorted(got["words"].as_ss().unwrap().clone()),
        sorted(got["numbers"].as_ns().unwrap().clone()),
        hex(&got["bytes"].as_bs().unwrap()[0]),
        format!("{},{}", list[0].as_s().unwrap(), list[1].as_n().unwrap()),
        got["map"].as_m().unwrap()["city"].as_s().unwrap()
    );
    say!("RequestId", answer.request_id().unwrap().len());
    let updated = db
        .update_item()
        .table_name(ORDERS)
        .set_key(Some(key.clone()))
        .update_expression("SET #s = :s ADD revision :one")
        .expression_attribute_names("#s", "status")
        .expression_attribute_values(":s", text("done"))
        .expression_attribute_values(":one", number(1))
        .return_values(ReturnValue::UpdatedNew)
        .send()
        .await
        .unwrap();
    let updated = updated.attributes().unwrap();
    say!("UpdateItem", updated["status"].as_s().unwrap(), updated["revision"].as_n().unwrap());
    let failed = refused!(
        db.put_item()
            .table_name(ORDERS)
            .set_item(Some(key.clone()))
            .condition_expression("attribute_not_exists(customer)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send(),
        PutItemError::ConditionalCheckFailedException
    );
    say!(
        "ConditionalCheckFailedException",
        format!("{};", failed.message().unwrap()),
        failed.item().unwrap()["status"].as_s().unwrap()
    );
    let deleted = db
        .delete_item()
        .table_name(ORDERS)
        .set_key(Some(key.clone()))
        .return_values(ReturnValue::AllOld)
        .send()
        .await
        .unwrap();
    say!("DeleteItem", deleted.attributes().unwrap()["status"].as_s().unwrap());
    let invalid = db.put_item().table_name(ORDERS).item("customer", text("ann")).send().await.unwrap_err();
    let invalid = invalid.into_service_error();
    say!(invalid.code().unwrap(), invalid.message().unwrap());
    let missing = refused!(
        db.get_item().table_name("missing").set_key(Some(key)).send(),
        GetItemError::ResourceNotFoundException
    );
    say!("ResourceNotFoundException", missing.message().unwrap());
}

async fn pages(db: &Client) {
    let puts = (1..=20)
        .map(|n| {
            let mut item = order(n);
            item.insert("status".into(), text(if n % 4 == 0 { "done" } else { "open" }));
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        })
        .collect();
    let written = db.batch_write_item().request_items(ORDERS, puts).send().await.unwrap();
    say!("BatchWriteItem", written.unprocessed_items().unwrap().len(), "unprocessed");
    let keys = KeysAndAttributes::builder().keys(order(1)).keys(order(2)).keys(order(3)).build().unwrap();
    let some = db.batch_get_item().request_items(ORDERS, keys).send().await.unwrap();
    say!("BatchGetItem", sorted(numbers(&some.responses().unwrap()[ORDERS])));
    let (mut items, mut count) = (0, 0);
    let mut found = db
        .query()
        .table_name(ORDERS)
        .key_condition_expression("customer = :c")
        .expression_attribute_values(":c", text("ann"))
        .limit(7)
        .into_paginator()
        .send();
    while let Some(page) = found.next().await {
        items += page.unwrap().count();
        count += 1;
    }
    say!("Query", items, "items in", count, "pages");
    let indexed = db
        .query()
        .table_name(ORDERS)
        .index_name("by_status")
        .key_condition_expression("#s = :s")
        .expression_attribute_names("#s", "status")
        .expression_attribute_values(":s", text("done"))
        .send()
        .await
        .unwrap();
    say!("Query", indexed.count(), "in the index");
    (items, count) = (0, 0);
    let mut found = db.scan().table_name(ORDERS).limit(8).into_paginator().send();
    while let Some(page) = found.next().await {
        items += page.unwrap().count();
        count += 1;
    }
    say!("Scan", items, "items in", count, "pages");
}

fn transaction(value: u32) -> TransactWriteItemsInputBuilder {
    let put = Put::builder().table_name(ORDERS).set_item(Some(order(value))).build().unwrap();
    let update = Update::builder()
        .table_name(ORDERS)
        .set_key(Some(order(1)))
        .update_expression("SET note = :n")
        .expression_attribute_values(":n", text("first"))
        .build()
        .unwrap();
    let delete = Delete::builder().table_name(ORDERS).set_key(Some(order(20))).build().unwrap();
    let check = ConditionCheck::builder()
        .table_name(ORDERS)
        .set_key(Some(order(2)))
        .condition_expression("attribute_exists(customer)")
        .build()
        .unwrap();
    TransactWriteItemsInputBuilder::default()
        .client_request_token("once")
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .transact_items(TransactWriteItem::builder().put(put).build())
        .transact_items(TransactWriteItem::builder().update(update).build())
        .transact_items(TransactWriteItem::builder().delete(delete).build())
        .transact_items(TransactWriteItem::builder().condition_check(check).build())
}

async fn transactions(db: &Client) {
    let written = transaction(21).send_with(db).await.unwrap();
    say!("TransactWriteItems", written.consumed_capacity()[0].table_name().unwrap());
    let mismatch =
        refused!(transaction(22).send_with(db), TransactWriteItemsError::IdempotentParameterMismatchException);
    say!("IdempotentParameterMismatchException", mismatch.message().unwrap());
    let get = |value| {
        let get = Get::builder().table_name(ORDERS).set_key(Some(order(value))).build().unwrap();
        TransactGetItem::builder().get(get).build()
    };
    let both = db.transact_get_items().transact_items(get(21)).transact_items(get(20)).send().await.unwrap();
    let both: Vec<&str> = both
        .responses()
        .iter()
        .map(|each| each.item().map_or("none", |item| item["number"].as_n().unwrap().as_str()))
        .collect();
    say!("TransactGetItems", both.join(","));
    let delete = Delete::builder().table_name(ORDERS).set_key(Some(order(2))).build().unwrap();
    let put = Put::builder()
        .table_name(ORDERS)
        .set_item(Some(order(3)))
        .condition_expression("attribute_not_exists(customer)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .unwrap();
    let canceled = refused!(
        db.transact_write_items()
            .transact_items(TransactWriteItem::builder().delete(delete).build())
            .transact_items(TransactWriteItem::builder().put(put).build())
            .send(),
        TransactWriteItemsError::TransactionCanceledException
    );
    let reasons = canceled.cancellation_reasons();
    let codes: Vec<&str> = reasons.iter().map(|reason| reason.code().unwrap()).collect();
    let status = reasons[1].item().unwrap()["status"].as_s().unwrap();
    say!("TransactionCanceledException", codes.join(","), status);
}

async fn statements(db: &Client) {
    let selected = db
        .execute_statement()
        .statement(ONE.replace(r#""number" = ?"#, r#""number" > ?"#))
        .parameters(text("ann"))
        .parameters(number(18))
        .send()
        .await
        .unwrap();
    say!("ExecuteStatement", numbers(selected.items()).join(","));
    let duplicate = refused!(
        db.execute_statement().statement(r#"INSERT INTO "orders" VALUE {'customer': 'ann', 'number': 1}"#).send(),
        ExecuteStatementError::DuplicateItemException
    );
    say!("DuplicateItemException", duplicate.message().unwrap());
    let member = |statement: &str| {
        let parameters = vec![text("ann"), number(21)];
        BatchStatementRequest::builder().statement(statement).set_parameters(Some(parameters)).build().unwrap()
    };
    let members = db
        .batch_execute_statement()
        .statements(member(ONE))
        .statements(member(&ONE.replace("orders", "missing")))
        .send()
        .await
        .unwrap();
    let members = members.responses();
    let number_of_first = members[0].item().unwrap()["number"].as_n().unwrap();
    let code_of_second = members[1].error().unwrap().code().unwrap();
    say!("BatchExecuteStatement", format!("{number_of_first},{code_of_second}"));
    let statement = |value| {
        let parameters = vec![text("ann"), number(value)];
        ParameterizedStatement::builder().statement(ONE).set_parameters(Some(parameters)).build().unwrap()
    };
    let done = db
        .execute_transaction()
        .transact_statements(statement(2))
        .transact_statements(statement(1))
        .send()
        .await
        .unwrap();
    let found: Vec<Item> = done.responses().iter().map(|each| each.item().unwrap().clone()).collect();
    say!("ExecuteTransaction", numbers(&found).join(","));
}

async fn settings(db: &Client, arn: &str) {
    let create = CreateGlobalSecondaryIndexAction::builder()
        .index_name("by_day")
        .key_schema(key_element("day", KeyType::Hash))
        .projection(projection(ProjectionType::KeysOnly))
        .build()
        .unwrap();
    let grown = db
        .update_table()
        .table_name(ORDERS)
        .attribute_definitions(definition("day", ScalarAttributeType::S))
        .global_secondary_index_updates(GlobalSecondaryIndexUpdate::builder().create(create).build())
        .send()
        .await
        .unwrap();
    let indexes = grown.table_description().unwrap().global_secondary_indexes();
    say!("UpdateTable", sorted(indexes.iter().map(|index| index.index_name().unwrap().into()).collect()));
    wait_for(db, ORDERS).await;
    let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build().unwrap();
    db.tag_resource().resource_arn(arn).tags(tag("team", "blue")).tags(tag("stage", "test")).send().await.unwrap();
    say!("TagResource", 2);
    db.untag_resource().resource_arn(arn).tag_keys("stage").send().await.unwrap();
    say!("UntagResource", 1);
    let tags = db.list_tags_of_resource().resource_arn(arn).send().await.unwrap();
    let tags: Vec<String> = tags.tags().iter().map(|tag| format!("{}={}", tag.key(), tag.value())).collect();
    say!("ListTagsOfResource", tags.join(","));
    let limits = db.describe_limits().send().await.unwrap();
    say!("DescribeLimits", limits.account_max_read_capacity_units().unwrap());
    say!("DescribeEndpoints", db.describe_endpoints().send().await.unwrap().endpoints().len());
    let expires = TimeToLiveSpecification::builder().enabled(true).attribute_name("expires").build().unwrap();
    let set = db.update_time_to_live().table_name(ORDERS).time_to_live_specification(expires).send().await.unwrap();
    say!("UpdateTimeToLive", set.time_to_live_specification().unwrap().attribute_name());
    let expiry = db.describe_time_to_live().table_name(ORDERS).send().await.unwrap();
    let expiry = expiry.time_to_live_description().unwrap();
    say!("DescribeTimeToLive", expiry.time_to_live_status().unwrap(), expiry.attribute_name().unwrap());
}

async fn backups(db: &Client) {
    let backup = db.create_backup().table_name(ORDERS).backup_name("nightly").send().await.unwrap();
    let backup = backup.backup_details().unwrap();
    let arn = backup.backup_arn();
    say!("CreateBackup", backup.backup_name());
    let detail = db.describe_backup().backup_arn(arn).send().await.unwrap();
    let detail = detail.backup_description().unwrap();
    say!(
        "DescribeBackup",
        detail.backup_details().unwrap().backup_status(),
        detail.source_table_details().unwrap().item_count().unwrap()
    );
    let listed = db.list_backups().table_name(ORDERS).send().await.unwrap();
    let listed: Vec<&str> = listed.backup_summaries().iter().map(|each| each.backup_name().unwrap()).collect();
    say!("ListBackups", listed.join(","));
    let restored =
        db.restore_table_from_backup().target_table_name("orders-copy").backup_arn(arn).send().await.unwrap();
    say!("RestoreTableFromBackup", restored.table_description().unwrap().table_name().unwrap());
    wait_for(db, "orders-copy").await;
    let scanned = db.scan().table_name("orders-copy").select(Select::Count).send().await.unwrap();
    say!("Scan", scanned.count(), "restored");
    let deleted = db.delete_backup().backup_arn(arn).send().await.unwrap();
    let status = deleted.backup_description().unwrap().backup_details().unwrap().backup_status().clone();
    say!("DeleteBackup", status);
    let missing = refused!(db.describe_backup().backup_arn(arn).send(), DescribeBackupError::BackupNotFoundException);
    say!("BackupNotFoundException", missing.message().unwrap().replace(arn, "ARN"));
    let recovery = PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(true).build().unwrap();
    let kept = db
        .update_continuous_backups()
        .table_name(ORDERS)
        .point_in_time_recovery_specification(recovery)
        .send()
        .await
        .unwrap();
    let recovery = kept.continuous_backups_description().unwrap().point_in_time_recovery_description().unwrap();
    say!("UpdateContinuousBackups", recovery.point_in_time_recovery_status().unwrap());
    let kept = db.describe_continuous_backups().table_name(ORDERS).send().await.unwrap();
    let status = kept.continuous_backups_description().unwrap().continuous_backups_status();
    say!("DescribeContinuousBackups", status);
    let again = db
        .restore_table_to_point_in_time()
        .source_table_name(ORDERS)
        .target_table_name("orders-now")
        .use_latest_restorable_time(true)
        .send()
        .await
        .unwrap();
    say!("RestoreTableToPointInTime", again.table_description().unwrap().table_name().unwrap());
    wait_for(db, "orders-now").await;
}

async fn records(streams: &StreamsClient) {
    let listed = streams.list_streams().table_name(ORDERS).send().await.unwrap();
    let stream = &listed.streams()[0];
    let arn = stream.stream_arn().unwrap();
    say!("ListStreams", stream.table_name().unwrap());
    let view = streams.describe_stream().stream_arn(arn).send().await.unwrap();
    let view = view.stream_description().unwrap();
    let shards = view.shards();
    say!("DescribeStream", view.stream_status().unwrap(), view.stream_view_type().unwrap(), shards.len());
    let iterator = streams
        .get_shard_iterator()
        .stream_arn(arn)
        .shard_id(shards[0].shard_id().unwrap())
        .shard_iterator_type(ShardIteratorType::TrimHorizon)
        .send()
        .await
        .unwrap();
    let iterator = iterator.shard_iterator().unwrap_or_default();
    say!("GetShardIterator", if iterator.is_empty() { "none" } else { "some" });
    let found = streams.get_records().shard_iterator(iterator).send().await.unwrap();
    let found = found.records();
    let events: Vec<&str> = found[..3].iter().map(|record| record.event_name().unwrap().as_str()).collect();
    let change = found[1].dynamodb().unwrap();
    let (old, new) = (change.old_image().unwrap(), change.new_image().unwrap());
    let status = |image: &HashMap<String, StreamValue>| image["status"].as_s().unwrap().clone();
    let binary = hex(new["binary"].as_b().unwrap());
    say!("GetRecords", found.len(), events.join(","), status(old), status(new), binary);
    let missing = refused!(
        streams.describe_stream().stream_arn(arn.replace("orders", "missing")).send(),
        DescribeStreamError::ResourceNotFoundException
    );
    say!("ResourceNotFoundException", missing.meta().code().unwrap());
}

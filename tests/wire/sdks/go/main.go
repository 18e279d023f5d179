// The session with the AWS SDK for Go 2: every operation once, errors, paginators, waiters and streams.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
)

type item = map[string]types.AttributeValue

var (
	ctx     = context.Background()
	orders  = aws.String("orders")
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
)

func say(step string, facts ...any) {
	fmt.Println(append([]any{step + ":"}, facts...)...)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// refused is the error of a call, as the type that the SDK has for it.
func refused[E error, T any](_ T, err error) E {
	var found E
	if !errors.As(err, &found) {
		panic(fmt.Sprintf("expected %T, got %v", found, err))
	}
	return found
}

func text(value string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: value} }
func number(value string) types.AttributeValue { return &types.AttributeValueMemberN{Value: value} }

func s(value types.AttributeValue) string { return value.(*types.AttributeValueMemberS).Value }
func n(value types.AttributeValue) string { return value.(*types.AttributeValueMemberN).Value }

func order(value int) item {
	return item{"customer": text("ann"), "number": number(strconv.Itoa(value))}
}

func joined[T any](values []T, part func(T) string) string {
	parts := make([]string, len(values))
	for i, value := range values {
		parts[i] = part(value)
	}
	return strings.Join(parts, ",")
}

func numbers(items []item) string {
	return joined(items, func(each item) string { return n(each["number"]) })
}

func sorted(values []string) string {
	return strings.Join(slices.Sorted(slices.Values(values)), ",")
}

func waitFor(table string) {
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 200*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, 30*time.Second); err != nil {
		panic(err)
	}
}

func main() {
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
	})
	url := aws.String(os.Args[1])
	db = dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: url, Credentials: credentials})
	streams = dynamodbstreams.New(dynamodbstreams.Options{Region: "us-east-1", BaseEndpoint: url, Credentials: credentials})

	arn := tables()
	items()
	pages()
	transactions()
	statements()
	settings(arn)
	backups()
	var names []string
	count := 0
	for paginator := dynamodb.NewListTablesPaginator(db, &dynamodb.ListTablesInput{Limit: aws.Int32(2)}); paginator.HasMorePages(); {
		names = append(names, must(paginator.NextPage(ctx)).TableNames...)
		count++
	}
	say("ListTables", strings.Join(names, ","), "in", count, "pages")
	records()
	var status types.TableStatus
	for _, name := range names {
		status = must(db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})).TableDescription.TableStatus
	}
	say("DeleteTable", status)
	waiter := dynamodb.NewTableNotExistsWaiter(db)
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: orders}, 30*time.Second); err != nil {
		panic(err)
	}
	say("TableNotExists", "yes")
}

func tables() *string {
	table := &dynamodb.CreateTableInput{
		TableName: orders,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("number"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("number"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("status"), AttributeType: types.ScalarAttributeTypeS},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String("by_status"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("status"), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
		BillingMode: types.BillingModePayPerRequest,
	}
	created := must(db.CreateTable(ctx, table)).TableDescription
	say("CreateTable", created.TableStatus)
	waitFor("orders")
	say("TableExists", "yes")
	described := must(db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: orders})).Table
	keys := joined(described.KeySchema, func(key types.KeySchemaElement) string {
		return *key.AttributeName + " " + string(key.KeyType)
	})
	index := described.GlobalSecondaryIndexes[0]
	say("DescribeTable", described.TableStatus, keys, *index.IndexName, index.IndexStatus)
	say("ResourceInUseException", refused[*types.ResourceInUseException](db.CreateTable(ctx, table)).ErrorMessage())
	return created.TableArn
}

func items() {
	full := item{
		"customer": text("ann"),
		"number":   number("1.50"),
		"status":   text("open"),
		"text":     text("café"),
		"binary":   &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"flag":     &types.AttributeValueMemberBOOL{Value: true},
		"nothing":  &types.AttributeValueMemberNULL{Value: true},
		"words":    &types.AttributeValueMemberSS{Value: []string{"b", "a"}},
		"numbers":  &types.AttributeValueMemberNS{Value: []string{"2", "1"}},
		"bytes":    &types.AttributeValueMemberBS{Value: [][]byte{{1}}},
		"list":     &types.AttributeValueMemberL{Value: []types.AttributeValue{text("x"), number("7")}},
		"map":      &types.AttributeValueMemberM{Value: item{"city": text("Bern")}},
	}
	put := must(db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: orders, Item: full, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}))
	say("PutItem", fmt.Sprintf("%.1f", *put.ConsumedCapacity.CapacityUnits), "units")
	key := item{"customer": text("ann"), "number": number("1.5")}
	answer := must(db.GetItem(ctx, &dynamodb.GetItemInput{TableName: orders, Key: key, ConsistentRead: aws.Bool(true)}))
	got := answer.Item
	list := got["list"].(*types.AttributeValueMemberL).Value
	say("GetItem",
		n(got["number"]),
		s(got["text"]),
		hex.EncodeToString(got["binary"].(*types.AttributeValueMemberB).Value),
		got["flag"].(*types.AttributeValueMemberBOOL).Value,
		got["nothing"].(*types.AttributeValueMemberNULL).Value,
		sorted(got["words"].(*types.AttributeValueMemberSS).Value),
		sorted(got["numbers"].(*types.AttributeValueMemberNS).Value),
		hex.EncodeToString(got["bytes"].(*types.AttributeValueMemberBS).Value[0]),
		s(list[0])+","+n(list[1]),
		s(got["map"].(*types.AttributeValueMemberM).Value["city"]))
	id, _ := awsmiddleware.GetRequestIDMetadata(answer.ResultMetadata)
	say("RequestId", len(id))
	updated := must(db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 orders,
		Key:                       key,
		UpdateExpression:          aws.String("SET #s = :s ADD revision :one"),
		ExpressionAttributeNames:  map[string]string{"#s": "status"},
		ExpressionAttributeValues: item{":s": text("done"), ":one": number("1")},
		ReturnValues:              types.ReturnValueUpdatedNew,
	})).Attributes
	say("UpdateItem", s(updated["status"]), n(updated["revision"]))
	failed := refused[*types.ConditionalCheckFailedException](db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           orders,
		Item:                                key,
		ConditionExpression:                 aws.String("attribute_not_exists(customer)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}))
	say("ConditionalCheckFailedException", failed.ErrorMessage()+";", s(failed.Item["status"]))
	deleted := must(db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: orders, Key: key, ReturnValues: types.ReturnValueAllOld,
	}))
	say("DeleteItem", s(deleted.Attributes["status"]))
	invalid := refused[smithy.APIError](db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: orders, Item: item{"customer": text("ann")},
	}))
	say(invalid.ErrorCode(), invalid.ErrorMessage())
	missing := refused[*types.ResourceNotFoundException](db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String("missing"), Key: key,
	}))
	say("ResourceNotFoundException", missing.ErrorMessage())
}

func pages() {
	var puts []types.WriteRequest
	for i := 1; i <= 20; i++ {
		each := order(i)
		each["status"] = text("open")
		if i%4 == 0 {
			each["status"] = text("done")
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: each}})
	}
	written := must(db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{"orders": puts},
	}))
	say("BatchWriteItem", len(written.UnprocessedItems), "unprocessed")
	some := must(db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{"orders": {Keys: []item{order(1), order(2), order(3)}}},
	})).Responses["orders"]
	found := strings.Split(numbers(some), ",")
	say("BatchGetItem", sorted(found))
	items, count := 0, 0
	for paginator := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName:                 orders,
		KeyConditionExpression:    aws.String("customer = :c"),
		ExpressionAttributeValues: item{":c": text("ann")},
		Limit:                     aws.Int32(7),
	}); paginator.HasMorePages(); count++ {
		items += int(must(paginator.NextPage(ctx)).Count)
	}
	say("Query", items, "items in", count, "pages")
	indexed := must(db.Query(ctx, &dynamodb.QueryInput{
		TableName:                 orders,
		IndexName:                 aws.String("by_status"),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": "status"},
		ExpressionAttributeValues: item{":s": text("done")},
	}))
	say("Query", indexed.Count, "in the index")
	items, count = 0, 0
	for paginator := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{
		TableName: orders, Limit: aws.Int32(8),
	}); paginator.HasMorePages(); count++ {
		items += int(must(paginator.NextPage(ctx)).Count)
	}
	say("Scan", items, "items in", count, "pages")
}

func transaction(value int) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{
		ClientRequestToken:     aws.String("once"),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: orders, Item: order(value)}},
			{Update: &types.Update{
				TableName:                 orders,
				Key:                       order(1),
				UpdateExpression:          aws.String("SET note = :n"),
				ExpressionAttributeValues: item{":n": text("first")},
			}},
			{Delete: &types.Delete{TableName: orders, Key: order(20)}},
			{ConditionCheck: &types.ConditionCheck{
				TableName: orders, Key: order(2), ConditionExpression: aws.String("attribute_exists(customer)"),
			}},
		},
	}
}

func transactions() {
	written := must(db.TransactWriteItems(ctx, transaction(21)))
	say("TransactWriteItems", *written.ConsumedCapacity[0].TableName)
	mismatch := refused[*types.IdempotentParameterMismatchException](db.TransactWriteItems(ctx, transaction(22)))
	say("IdempotentParameterMismatchException", mismatch.ErrorMessage())
	both := must(db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: orders, Key: order(21)}},
		{Get: &types.Get{TableName: orders, Key: order(20)}},
	}})).Responses
	say("TransactGetItems", joined(both, func(each types.ItemResponse) string {
		if each.Item == nil {
			return "none"
		}
		return n(each.Item["number"])
	}))
	canceled := refused[*types.TransactionCanceledException](db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Delete: &types.Delete{TableName: orders, Key: order(2)}},
			{Put: &types.Put{
				TableName:                           orders,
				Item:                                order(3),
				ConditionExpression:                 aws.String("attribute_not_exists(customer)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			}},
		},
	}))
	codes := joined(canceled.CancellationReasons, func(each types.CancellationReason) string { return *each.Code })
	say("TransactionCanceledException", codes, s(canceled.CancellationReasons[1].Item["status"]))
}

func statements() {
	one := `SELECT "number" FROM "orders" WHERE customer = ? AND "number" = ?`
	parameters := func(value string) []types.AttributeValue { return []types.AttributeValue{text("ann"), number(value)} }
	selected := must(db.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
		Statement:  aws.String(strings.Replace(one, `"number" = ?`, `"number" > ?`, 1)),
		Parameters: parameters("18"),
	}))
	say("ExecuteStatement", numbers(selected.Items))
	duplicate := refused[*types.DuplicateItemException](db.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
		Statement: aws.String(`INSERT INTO "orders" VALUE {'customer': 'ann', 'number': 1}`),
	}))
	say("DuplicateItemException", duplicate.ErrorMessage())
	members := must(db.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{
		Statements: []types.BatchStatementRequest{
			{Statement: &one, Parameters: parameters("21")},
			{Statement: aws.String(strings.Replace(one, "orders", "missing", 1)), Parameters: parameters("21")},
		},
	})).Responses
	say("BatchExecuteStatement", n(members[0].Item["number"])+","+string(members[1].Error.Code))
	done := must(db.ExecuteTransaction(ctx, &dynamodb.ExecuteTransactionInput{
		TransactStatements: []types.ParameterizedStatement{
			{Statement: &one, Parameters: parameters("2")},
			{Statement: &one, Parameters: parameters("1")},
		},
	})).Responses
	say("ExecuteTransaction", joined(done, func(each types.ItemResponse) string { return n(each.Item["number"]) }))
}

func settings(arn *string) {
	grown := must(db.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: orders,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("day"), AttributeType: types.ScalarAttributeTypeS},
		},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
			Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName:  aws.String("by_day"),
				KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("day"), KeyType: types.KeyTypeHash}},
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			},
		}},
	})).TableDescription
	names := make([]string, 0, 2)
	for _, index := range grown.GlobalSecondaryIndexes {
		names = append(names, *index.IndexName)
	}
	say("UpdateTable", sorted(names))
	waitFor("orders")
	must(db.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: arn, Tags: []types.Tag{
		{Key: aws.String("team"), Value: aws.String("blue")},
		{Key: aws.String("stage"), Value: aws.String("test")},
	}}))
	say("TagResource", 2)
	must(db.UntagResource(ctx, &dynamodb.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"stage"}}))
	say("UntagResource", 1)
	tags := must(db.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: arn})).Tags
	say("ListTagsOfResource", joined(tags, func(tag types.Tag) string { return *tag.Key + "=" + *tag.Value }))
	say("DescribeLimits", *must(db.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{})).AccountMaxReadCapacityUnits)
	say("DescribeEndpoints", len(must(db.DescribeEndpoints(ctx, &dynamodb.DescribeEndpointsInput{})).Endpoints))
	set := must(db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: orders,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			Enabled: aws.Bool(true), AttributeName: aws.String("expires"),
		},
	})).TimeToLiveSpecification
	say("UpdateTimeToLive", *set.AttributeName)
	expiry := must(db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: orders})).TimeToLiveDescription
	say("DescribeTimeToLive", expiry.TimeToLiveStatus, *expiry.AttributeName)
}

func backups() {
	backup := must(db.CreateBackup(ctx, &dynamodb.CreateBackupInput{
		TableName: orders, BackupName: aws.String("nightly"),
	})).BackupDetails
	say("CreateBackup", *backup.BackupName)
	describe := &dynamodb.DescribeBackupInput{BackupArn: backup.BackupArn}
	detail := must(db.DescribeBackup(ctx, describe)).BackupDescription
	say("DescribeBackup", detail.BackupDetails.BackupStatus, *detail.SourceTableDetails.ItemCount)
	listed := must(db.ListBackups(ctx, &dynamodb.ListBackupsInput{TableName: orders})).BackupSummaries
	say("ListBackups", joined(listed, func(each types.BackupSummary) string { return *each.BackupName }))
	restored := must(db.RestoreTableFromBackup(ctx, &dynamodb.RestoreTableFromBackupInput{
		TargetTableName: aws.String("orders-copy"), BackupArn: backup.BackupArn,
	}))
	say("RestoreTableFromBackup", *restored.TableDescription.TableName)
	waitFor("orders-copy")
	scanned := must(db.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("orders-copy"), Select: types.SelectCount}))
	say("Scan", scanned.Count, "restored")
	deleted := must(db.DeleteBackup(ctx, &dynamodb.DeleteBackupInput{BackupArn: backup.BackupArn})).BackupDescription
	say("DeleteBackup", deleted.BackupDetails.BackupStatus)
	missing := refused[*types.BackupNotFoundException](db.DescribeBackup(ctx, describe))
	say("BackupNotFoundException", strings.ReplaceAll(missing.ErrorMessage(), *backup.BackupArn, "ARN"))
	kept := must(db.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
		TableName: orders,
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: aws.Bool(true),
		},
	})).ContinuousBackupsDescription
	say("UpdateContinuousBackups", kept.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus)
	kept = must(db.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{
		TableName: orders,
	})).ContinuousBackupsDescription
	say("DescribeContinuousBackups", kept.ContinuousBackupsStatus)
	again := must(db.RestoreTableToPointInTime(ctx, &dynamodb.RestoreTableToPointInTimeInput{
		SourceTableName: orders, TargetTableName: aws.String("orders-now"), UseLatestRestorableTime: aws.Bool(true),
	}))
	say("RestoreTableToPointInTime", *again.TableDescription.TableName)
	waitFor("orders-now")
}

func records() {
	stream := must(streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: orders})).Streams[0]
	say("ListStreams", *stream.TableName)
	view := must(streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{
		StreamArn: stream.StreamArn,
	})).StreamDescription
	say("DescribeStream", view.StreamStatus, view.StreamViewType, len(view.Shards))
	iterator := must(streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         stream.StreamArn,
		ShardId:           view.Shards[0].ShardId,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	})).ShardIterator
	if *iterator == "" {
		say("GetShardIterator", "none")
	} else {
		say("GetShardIterator", "some")
	}
	found := must(streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})).Records
	change := found[1].Dynamodb
	status := func(image map[string]streamtypes.AttributeValue) string {
		return image["status"].(*streamtypes.AttributeValueMemberS).Value
	}
	say("GetRecords",
		len(found),
		joined(found[:3], func(each streamtypes.Record) string { return string(each.EventName) }),
		status(change.OldImage),
		status(change.NewImage),
		hex.EncodeToString(change.NewImage["binary"].(*streamtypes.AttributeValueMemberB).Value))
	missing := refused[*streamtypes.ResourceNotFoundException](streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{
		StreamArn: aws.String(strings.Replace(*stream.StreamArn, "orders", "missing", 1)),
	}))
	say("ResourceNotFoundException", missing.ErrorCode())
}

"""What keeps data: the key that encrypts it, the tables, the bucket of large values, the secret.

Tables have point-in-time recovery and stay when the stack is deleted, and so do the bucket and the key.
"""

from __future__ import annotations

from typing import Any

from tablewright.deploy.stack_template import Stack, allow, att, policy, ref, sub
from tablewright.design.infra import TableTemplate

__all__ = ["BUCKET", "KEY", "SECRET", "add_bucket", "add_key", "add_secret", "add_tables"]

KEY, BUCKET, SECRET = "DataKey", "BlobBucket", "MasterSecret"
_SECRET_CHARACTERS = 64
_KEPT_VERSIONS_DAYS = 35


def add_key(stack: Stack) -> None:
    """The key of everything at rest. Whoever may use a table, a queue or a bucket of this account may use it there."""
    services = ("dynamodb", "s3", "secretsmanager", "sqs", "sns")
    key_policy = policy(
        allow("Administration", ["kms:*"], "*")
        | {"Principal": {"AWS": sub("arn:${AWS::Partition}:iam::${AWS::AccountId}:root")}},
        allow(
            "UseThroughServices",
            ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*"],
            "*",
            StringEquals={
                "kms:CallerAccount": ref("AWS::AccountId"),
                "kms:ViaService": [sub(f"{service}.${{AWS::Region}}.amazonaws.com") for service in services],
            },
        )
        | {"Principal": {"AWS": "*"}},
        allow("UseByServices", ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*"], "*")
        | {
            "Principal": {
                "Service": [
                    "cloudwatch.amazonaws.com",
                    "events.amazonaws.com",
                    "ses.amazonaws.com",
                    "sns.amazonaws.com",
                ]
            },
            "Condition": {"StringEquals": {"aws:SourceAccount": ref("AWS::AccountId")}},
        },
        allow("UseByLogs", ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*"], "*")
        | {
            "Principal": {"Service": sub("logs.${AWS::Region}.amazonaws.com")},
            "Condition": {
                "ArnLike": {
                    "kms:EncryptionContext:aws:logs:arn": sub(
                        "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:*"
                    )
                }
            },
        },
    )
    here = "a key policy is about its own key, which it calls *"
    stack.add(
        KEY,
        "AWS::KMS::Key",
        {
            "Description": sub("Encrypts everything at rest in ${AWS::StackName}"),
            "EnableKeyRotation": True,
            "PendingWindowInDays": 30,
            "KeyPolicy": key_policy,
        },
        "The key that everything at rest is encrypted with.",
        retain=True,
        reasons={
            "Administration": f"{here}; the account administers it through its own policies",
            "UseThroughServices": f"{here}; the principal is limited to this account and these services",
            "UseByServices": here,
            "UseByLogs": here,
        },
    )
    stack.add("DataKeyAlias", "AWS::KMS::Alias", {"AliasName": sub("alias/${AWS::StackName}"), "TargetKeyId": ref(KEY)})


def add_tables(stack: Stack, tables: TableTemplate) -> None:
    stack.parameters.update({name: each for name, each in tables.parameters().items() if name != "KmsKeyArn"})
    stack.conditions.update({name: each for name, each in tables.conditions().items() if name != "HasKmsKey"})
    for table in tables.tables:
        for name, resource in tables.table(table):
            properties: dict[str, Any] = dict(resource["Properties"])
            is_table = resource["Type"] == "AWS::DynamoDB::Table"
            if is_table:
                properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
                properties["SSESpecification"] = {
                    "SSEEnabled": True,
                    "SSEType": "KMS",
                    "KMSMasterKeyId": att(KEY),
                }
            stack.add(name, resource["Type"], properties, retain=is_table, owner=f"the table {table.name}")
        for name, output in tables.outputs(table):
            stack.outputs[name] = output


def add_bucket(stack: Stack) -> None:
    stack.add(
        BUCKET,
        "AWS::S3::Bucket",
        {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [
                    {
                        "BucketKeyEnabled": True,
                        "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": att(KEY)},
                    }
                ]
            },
            "LifecycleConfiguration": {
                "Rules": [
                    {
                        "Id": "abandoned-uploads",
                        "Status": "Enabled",
                        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
                    },
                    {
                        # As long as a table can be restored to a state that refers to them.
                        "Id": "old-versions",
                        "Status": "Enabled",
                        "NoncurrentVersionExpiration": {"NoncurrentDays": _KEPT_VERSIONS_DAYS},
                    },
                    {
                        # What is left of a deleted object when its old versions are gone.
                        "Id": "delete-markers",
                        "Status": "Enabled",
                        "ExpiredObjectDeleteMarker": True,
                    },
                ]
            },
            "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            },
            "VersioningConfiguration": {"Status": "Enabled"},
        },
        "Large values of items; an item refers to them.",
        retain=True,
    )
    stack.add(
        "BlobBucketPolicy",
        "AWS::S3::BucketPolicy",
        {
            "Bucket": ref(BUCKET),
            "PolicyDocument": policy(
                {
                    "Sid": "OnlyEncryptedConnections",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "s3:*",
                    "Resource": [att(BUCKET), sub("${BlobBucket.Arn}/*")],
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                }
            ),
        },
    )


def add_secret(stack: Stack) -> None:
    stack.add(
        SECRET,
        "AWS::SecretsManager::Secret",
        {
            "Description": sub(
                "Secret from which the keys of cursors, hashes, sessions and webhooks of ${AWS::StackName} are derived"
            ),
            "KmsKeyId": att(KEY),
            "GenerateSecretString": {"PasswordLength": _SECRET_CHARACTERS, "ExcludePunctuation": True},
        },
        "One secret, from which the keys of cursors, hashes, sessions and webhooks are derived.",
        retain=True,
    )

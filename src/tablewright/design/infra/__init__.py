"""Infrastructure as code: what creates the tables of a design in an AWS account.

cloudformation_template(design, Deployment(environment="dev"))
requests(design, Deployment())       CreateTable, UpdateTimeToLive, ..., in order

table_requests   the requests, which all formats express
cloudformation   a template, with policies
terraform        a configuration
aws_cli          commands and a shell script
boto3_program    a Python program
"""

from tablewright.design.infra.aws_cli import aws_cli_commands, aws_cli_script
from tablewright.design.infra.boto3_program import boto3_script
from tablewright.design.infra.cloudformation import TableTemplate, cloudformation_template
from tablewright.design.infra.table_requests import AwsRequest, Deployment, ProvisionedCapacity, requests
from tablewright.design.infra.terraform import terraform_configuration

__all__ = [
    "AwsRequest",
    "Deployment",
    "ProvisionedCapacity",
    "TableTemplate",
    "aws_cli_commands",
    "aws_cli_script",
    "boto3_script",
    "cloudformation_template",
    "requests",
    "terraform_configuration",
]

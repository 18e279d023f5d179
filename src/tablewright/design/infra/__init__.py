"""What makes a design's tables in an account: CloudFormation, Terraform, AWS CLI, boto3."""

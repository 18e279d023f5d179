"""Commands for AWS accounts: the stack."""

"""Commands for AWS accounts: ``deploy`` writes a stack, ``package`` what it runs."""

"""Commands for AWS accounts: ``deploy`` writes a stack, ``package`` builds the code that it runs."""

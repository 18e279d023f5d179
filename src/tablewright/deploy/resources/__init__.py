"""The resources of a stack, a module for each kind."""

"""How writes are executed: operations, plans, preconditions, commits."""

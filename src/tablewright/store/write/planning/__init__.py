"""How writes are carried out: operations, plans, preconditions, commits."""

"""The text of a PartiQL statement, and the tree that it is read as."""

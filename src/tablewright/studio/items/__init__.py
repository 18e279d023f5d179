"""Logic for items, without drawing: searches and their cost, text of values, copies, changes, index entries."""

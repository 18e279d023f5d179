"""What views do with items, without drawing: searches and their cost, text of values, copies, changes, other places."""

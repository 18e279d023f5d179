"""A list next to its open item: the form of most views of the applications."""

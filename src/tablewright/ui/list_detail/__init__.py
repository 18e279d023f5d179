"""A list beside the thing of it that is open: what most views of the applications are."""

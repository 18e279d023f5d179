"""The views of the frame itself: the start page, and results of a search."""

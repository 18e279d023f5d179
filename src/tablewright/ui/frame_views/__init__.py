"""The views of the frame itself: the start page, results of a search, the gallery."""

"""The switch of a relocation: which of two places takes requests, and a backend that goes where it says."""

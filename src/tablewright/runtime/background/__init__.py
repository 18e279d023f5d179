"""Work beside requests: consumers of streams, and work in turns."""

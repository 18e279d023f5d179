"""What customers want: their preferences, who changed them, and links by which they unsubscribe."""

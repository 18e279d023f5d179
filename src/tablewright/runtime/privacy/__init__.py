"""Personal data across the systems: finding, exporting and erasing it."""

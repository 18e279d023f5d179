"""Personal data of somebody across the systems: found, exported, erased."""

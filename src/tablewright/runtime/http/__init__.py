"""HTTP around the systems: the application, the gate, problems, routes, pages, the server."""

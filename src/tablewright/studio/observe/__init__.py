"""Views of what tables were, do and cost: time, streams, SQL, heat and bill, and a console for requests."""

"""Views of a table's past, activity and cost: time, streams, SQL, heat and bill, and a console for requests."""

"""Units, demand, monthly bills, forecasts and meter reports."""

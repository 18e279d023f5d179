"""From customers to candidates: models, scores, filters."""

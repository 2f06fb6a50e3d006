"""The re-open model: users who arrive, and submit another job if they like the response."""

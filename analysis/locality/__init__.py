"""What repeats: jobs alike, values that come again, days of one kind."""

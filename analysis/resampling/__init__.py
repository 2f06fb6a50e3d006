"""Whether resampled logs are like the log they are made from."""

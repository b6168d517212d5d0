"""What the operator decided: configuration file, environment, flags. Plain data, loaded and checked once."""

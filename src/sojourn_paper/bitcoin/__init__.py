"""The paper's Bitcoin study: buy or sell at every minute, and wait a random or a scaled time."""

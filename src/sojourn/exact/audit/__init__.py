"""What estimators of the rate come to in the long run, and which policies are greedy for that."""

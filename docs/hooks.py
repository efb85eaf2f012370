"""What the site adds to its pages while it is built."""

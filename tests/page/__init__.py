"""The page as a person meets it: a real server, a real browser."""

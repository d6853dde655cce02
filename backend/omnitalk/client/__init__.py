"""A client of chat completions: ``query`` makes the question, ``completions`` asks and reads the answer, ``conversation`` shows it."""

"""The command ``progress``: how far a study is while it runs, and what goes wrong in it."""

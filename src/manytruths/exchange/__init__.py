"""What annotation tools export, and what they open: read into one kind of object, and written from it."""

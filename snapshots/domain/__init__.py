"""What is true of a recording, in plain Python: no framework, no file, no clock."""

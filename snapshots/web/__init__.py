"""How requests and websockets come in, and how answers are shown."""

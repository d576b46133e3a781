"""The text logs of JobManagers and TaskManagers."""

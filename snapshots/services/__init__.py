"""What a request may ask for: one function a use case, one transaction each."""

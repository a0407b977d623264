"""The doors to other libraries and to files, each library imported inside the function that needs it."""

"""The sample photograph; README.md beside it says where it comes from."""

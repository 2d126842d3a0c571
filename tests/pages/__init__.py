"""Pages: in process, and in a browser that drives a real server."""

"""Reading: a thread as the transcript of a request."""

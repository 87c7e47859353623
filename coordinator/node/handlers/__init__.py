"""One module per API family. A handler turns a request into what broker or runtime is asked, and back."""

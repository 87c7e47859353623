"""The log directories: which log lies where, and the files beside the logs."""

"""The settings: declared by subject in `*_keys.py`, read by `settings.py`."""

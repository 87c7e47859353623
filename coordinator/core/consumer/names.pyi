def change_counts(counts: dict[str, int], names: tuple[str, ...], by: int) -> None:
    """Change how often each of the names counts, and remove those that count no more."""

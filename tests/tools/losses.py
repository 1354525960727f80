"""The final report of a script that tries many kinds of damage."""


def report(headline, counts, lost):
    """Prints the headline, the number of runs for each way to end, and each loss. Returns the exit code."""
    print(headline)
    for what in sorted(counts, key=str):
        print(f"  {what}: {counts[what]}")
    print("lost: " + (str(len(lost)) if lost else "nothing"))
    print("\n".join(lost), end="\n" if lost else "")
    return 1 if lost else 0

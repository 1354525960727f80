"""The final report of a script that tries many kinds of damage."""


def report(headline, counts, lost):
    """Prints the headline, how many runs ended in each way, and a line for each loss. A loss is a run that the program
    handled badly, such as a crash, a hang or a damaged file. `lost` describes the losses. Returns the exit code, which
    is 1 if there is a loss."""
    print(headline)
    for what in sorted(counts, key=str):
        print(f"  {what}: {counts[what]}")
    print("lost: " + (str(len(lost)) if lost else "nothing"))
    print("\n".join(lost), end="\n" if lost else "")
    return 1 if lost else 0

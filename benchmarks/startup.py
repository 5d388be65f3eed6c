"""How long the tool takes to answer: `import attending` and `attending --help`, whole processes.

    python benchmarks/startup.py [--runs 7]

The time of an empty Python process is shown beside, and the median of each is quoted.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import attending": ["-c", "import attending"],
    "attending --help": ["-m", "attending", "--help"],
    "attending train --help": ["-m", "attending", "train", "--help"],
}


def seconds(arguments: list[str]) -> float:
    """Run a Python process and return its wall time."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Measure each command in turn, several times, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    for arguments in COMMANDS.values():
        seconds(arguments)
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            found[name].append(seconds(arguments))
    print(json.dumps({n: round(statistics.median(t), 3) for n, t in found.items()}, indent=2))


if __name__ == "__main__":
    main()

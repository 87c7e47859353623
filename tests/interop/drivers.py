"""A driver for tests of the runner: it runs no consumer, and says on stdout what it is told to."""

import json
import subprocess
import sys

READY = {"event": "ready", "client": "fake", "version": "1", "can": ["range"]}


def main() -> None:
    how = sys.argv[1]
    if how == "dies":
        sys.exit("no such library")
    if how == "says nothing":
        sys.stdin.read()
    if how == "is no driver":
        print("Usage: fake [options]", flush=True)
    lacking = {"lacks": ["commit"]} if how == "lacks an ability" else {}
    if how == "starts a process":
        subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    print(json.dumps(READY | lacking), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if how == "talks nonsense":
            print("assigned: all of them \x1b[31m", flush=True)
        elif how == "lacks fields":
            print(json.dumps({"event": "assigned", "member": command["member"]}), flush=True)
        elif how == "ends":
            print("Segmentation fault", file=sys.stderr)
            sys.exit(3)
        elif how == "ends in a line":
            sys.stdout.write('{"event": "assi')
            sys.exit(0)
        elif how == "answers" and command["do"] == "start":
            partitions = {topic: [0] for topic in command["topics"]}
            told = {"event": "assigned", "member": command["member"], "partitions": partitions, "time_ms": 1}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()

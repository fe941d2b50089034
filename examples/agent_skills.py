"""Skills for an agent written in another language: every step is one `metier` command with `--json`.

    python3 examples/agent_skills.py "summarise examples/sales.csv by region"

Your program keeps its own loop and its own model. Metier finds the skills, judges what may be read and
run, asks for approval, and runs scripts in the sandbox. `choose` and `act` stand where your model decides.
"""

import json
import subprocess
import sys


def metier(*words):
    """Runs a command; gives its exit code and its document."""
    done = subprocess.run(
        ["metier", "--json", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return done.returncode, json.loads(done.stdout)


def ask(question):
    """A person decides; without one, the answer is no."""
    print(question, file=sys.stderr)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def choose(request, catalog):
    """Which skill fits? A model reads `catalog`; here the search answers."""
    _, found = metier("search", request)
    names = [hit["name"] for hit in found["results"]]
    return names[0] if names and names[0] in catalog else None


def act(request, instructions):
    """Which script, with which arguments? A model reads `instructions`; here one skill is known."""
    words = request.split()
    file = next((word for word in words if word.endswith(".csv")), None)
    if file is None or "scripts/summarise.sh" not in instructions:
        sys.exit("This example only knows requests such as: summarise FILE.csv by COLUMN")
    return "scripts/summarise.sh", ["--by", words[-1], file]


def run_script(skill, script, arguments):
    """Runs a script of a skill. Exit code 3 with an approval means: ask, then run it with the digest."""
    code, result = metier("exec", skill, script, "--", *arguments)
    approval = result.get("error", {}).get("approval")
    if code == 3 and approval:
        if not ask(f"{result['error']['message']}\nRun it? [y/N]"):
            return "The user said no."
        code, result = metier("exec", "--approve", approval["digest"], skill, script, "--", *arguments)
    if "error" in result:
        return f"Not run: {result['error']['message']}"
    return result["stdout"] if code == 0 else result["stderr"]


def main():
    request = " ".join(sys.argv[1:]) or "summarise examples/sales.csv by region"
    _, catalog = metier("catalog", "--request", request)
    skill = choose(request, catalog["text"])
    if skill is None:
        sys.exit("No skill fits this request.")
    code, body = metier("read", skill)
    if code != 0:
        sys.exit(body["error"]["message"])
    script, arguments = act(request, body["text"])
    print(run_script(skill, script, arguments).rstrip())


if __name__ == "__main__":
    main()

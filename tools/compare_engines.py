# SPDX-License-Identifier: Apache-2.0
"""compare_engines.py BIN OUT [SCENE...]: the scenes of bench/peers/engines by every engine that was built.

One process per case, one thread, one after the other; every figure comes from poses and velocities.
Writes OUT/engines.json and OUT/engines.md, and prints the tables as they fill. Spheres start from
states that Bullet settled (50 iterations, 600 steps), the only engine here that does so in seconds.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

VARIANTS = {
    "orthant": ["default"],
    "mujoco": ["newton", "elliptic", "cg"],
    "bullet": ["si10", "si50", "dantzig"],
    "dart": ["dantzig", "pgs"],
    "ode": ["quick", "quick50", "dantzig"],
    # From PyPI (tools/setup peers): what the field installs today.
    "pypi": ["mujoco-newton", "mujoco-elliptic", "mujoco-cg", "dart-dantzig", "dart-nsgs", "dart-fbf", "drake-lagged",
             "drake-sap", "drake-hydroelastic", "pinocchio-admm", "bullet-si10", "bullet-si50"],
}
# Pivoting on a thousand contacts takes seconds or never ends.
SLOW = {("bullet", "dantzig"), ("dart", "dantzig"), ("dart", "pgs"), ("ode", "dantzig"), ("mujoco", "newton"),
        ("mujoco", "elliptic"), *(("pypi", name) for name in
        ("mujoco-newton", "mujoco-elliptic", "dart-dantzig", "dart-nsgs", "dart-fbf", "drake-hydroelastic",
         "pinocchio-admm"))}
TIMEOUT = float(os.environ.get("PEER_SECONDS", "60"))


def run(folder, engine, variant, scene, **arguments):
    """One case; what the program printed, or why there is nothing."""
    words = [f"{key}={value}" for key, value in arguments.items()]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    case = {"engine": engine, "variant": variant, "scene": scene, "arguments": arguments}
    try:
        done = subprocess.run([folder / f"peer_{engine}", variant, scene, *words, f"cap={TIMEOUT / 2}"],
                              capture_output=True, text=True, timeout=TIMEOUT, env=environment,
                              cwd=tempfile.gettempdir())  # MuJoCo leaves a log where it runs
    except subprocess.TimeoutExpired:
        return {**case, "failed": f"over {TIMEOUT:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {**case, "failed": "aborts", "words": done.stderr.strip()[-500:]}
    return {**case, **json.loads(lines[-1])}


def number(value):
    return "-" if value is None else f"{value:.2g}" if isinstance(value, float) else str(value)


class Table:
    """Prints rows as they come and keeps them as Markdown."""

    def __init__(self, title, columns):
        self.title, self.columns, self.lines = title, columns, []
        self.row(["engine", *columns], head=True)

    def row(self, cells, head=False):
        if head:
            print(f"\n{self.title}")
        print("  ".join([f"{cells[0]:28}", *(f"{cell:>16}" for cell in cells[1:])]), flush=True)
        self.lines.append("| " + " | ".join(cells) + " |")
        if head:
            self.lines.append("|" + " --- |" * len(cells))

    def markdown(self):
        return f"### {self.title}\n\n" + "\n".join(self.lines) + "\n"


def settled(folder, out, count):
    """File of the positions of `count` spheres at rest, made once; None without Bullet."""
    state = out / f"settled_{count}.txt"
    if not state.exists() and (folder / "peer_bullet").exists():
        print(f"settling {count} spheres", flush=True)
        subprocess.run([folder / "peer_bullet", "si50", "spheres", f"n={count}", "steps=600", "cap=300", f"dump={state}"],
                       check=True, stdout=subprocess.DEVNULL)
    return state if state.exists() else None


class Cases:
    """Runs cases and keeps what came out."""

    def __init__(self, folder, out):
        self.folder, self.out, self.results = folder, out, []

    def __call__(self, engine, variant, scene, **arguments):
        self.results.append(run(self.folder, engine, variant, scene, **arguments))
        return self.results[-1]


def stacks(cases, engines):
    table = Table("50 unit cubes, friction 0.6, h = 0.01, 500 steps: drift [m] and steps/s",
                  ["touching 1 kg", "touching 1000 kg", "0.1 mm 1 kg", "0.1 mm 1000 kg"])
    for engine, variant in engines:
        cells = []
        for gap in (0, 1e-4):
            for mass in (1, 1000):
                item = cases(engine, variant, "stack", n=50, mass=mass, gap=gap)
                cells.append(item["failed"] if "failed" in item else "falls" if not item["stands"] else
                             f"{item['steps']} steps {item['steps_per_s']:.0f}/s" if item["steps"] < 500 else
                             f"{item['drift']:.1e} {item['steps_per_s']:.0f}/s")
        table.row([f"{engine} {variant}", *cells])
    return table


def piles(cases, engines):
    table = Table("Spheres in a box, settled, friction 0.5, h = 0.01, 20 steps: CPU ms per step, penetration / r",
                  ["N", "ms per step", "contacts", "penetration / r", "energy rise", "escaped"])
    for count in (500, 2000):
        state = settled(cases.folder, cases.out, count)
        if state is None:
            print("Bullet is needed to settle the spheres; left out")
            break
        for engine, variant in [*engines[:1], ("orthant", "rough"), *engines[1:]]:
            if (engine, variant) in SLOW and count > 500:
                continue
            item = cases(engine, variant, "spheres", state=state)
            cells = [item["failed"], "", "", "", ""] if "failed" in item else [
                number(item["ms_per_step"]), str(item["contacts"]), number(item["penetration_over_r"]),
                number(item["energy_rise_over_start"]), str(item["escaped"])]
            table.row([f"{engine} {variant}", str(count), *cells])
    return table


def ratios(cases, engines):
    table = Table("8 spheres, each 10 times heavier than the one below, 2 s: penetration / r and steps/s",
                  ["touching", "1 mm apart"])
    for engine, variant in engines:
        cells = []
        for gap in (0, 1e-3):
            item = cases(engine, variant, "mass_ratio", gap=gap)
            cells.append(item["failed"] if "failed" in item else
                         f"{item['penetration_end_over_r']:.1e} {item['steps_per_s']:.0f}/s")
        table.row([f"{engine} {variant}", *cells])
    return table


def inclines(cases, engines):
    table = Table("Block on an incline, friction 0.5, 1 s: creep [m] at rest, relative error of the speed sliding; "
                  "worst of headings 0, 30, 45, 90 degrees", ["20 deg creep", "26 deg creep", "27 deg speed", "30 deg speed"])
    for engine, variant in engines:
        cells = []
        for angle in (20, 26, 27, 30):
            items = [cases(engine, variant, "incline", angle=angle, heading=h) for h in (0, 30, 45, 90)]
            failed = [item["failed"] for item in items if "failed" in item]
            worst = [item.get("creep", item.get("speed_error")) for item in items if "failed" not in item]
            cells.append(failed[0] if failed else f"{max(worst):.1e}")
        table.row([f"{engine} {variant}", *cells])
    return table


def throws(cases, engines):
    table = Table("Block thrown along a level floor: deceleration / (mu g), path turned [deg] after 0.2 s",
                  ["heading 0", "heading 22.5", "heading 45"])
    for engine, variant in engines:
        items = [cases(engine, variant, "thrown", heading=h) for h in (0, 22.5, 45)]
        table.row([f"{engine} {variant}", *(item["failed"] if "failed" in item else
                  f"{item['deceleration_over_mu_g']:.4f} {item['path_turned_deg']:.1e}" for item in items)])
    return table


def chains(cases, engines):
    table = Table("Chain released horizontally, ball joints, h = 0.01, 10 s: joint error [m], energy change, steps/s",
                  ["10 links", "50 links"])
    for engine, variant in [*engines[:1], ("orthant", "rattle"), *engines[1:]]:
        items = [cases(engine, variant, "chain", n=n) for n in (10, 50)]
        table.row([f"{engine} {variant}", *(item["failed"] if "failed" in item else
                  "diverges" if not item["finite"] or item["energy_change"] is None else
                  f"{item['joint_error']:.0e} {item['energy_change']:.0e} {item['steps_per_s']:.0f}/s" for item in items)])
    return table


SCENES = {"stack": stacks, "spheres": piles, "mass_ratio": ratios, "incline": inclines, "thrown": throws, "chain": chains}


def main():
    folder, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    wanted = sys.argv[3:] or list(SCENES)
    for name in wanted:
        if name not in SCENES:
            print(f"unknown scene '{name}'; there are {', '.join(SCENES)}", file=sys.stderr)
            return 2
    out.mkdir(parents=True, exist_ok=True)
    engines = [(engine, variant) for engine, variants in VARIANTS.items() if (folder / f"peer_{engine}").exists()
               for variant in variants]
    missing = [engine for engine in VARIANTS if not (folder / f"peer_{engine}").exists()]
    if missing:
        print(f"not built, left out: {', '.join(missing)}")
    cases = Cases(folder, out)
    tables = [SCENES[name](cases, engines) for name in wanted]
    (out / "engines.json").write_text(json.dumps(cases.results, indent=1, default=str) + "\n")
    (out / "engines.md").write_text("\n".join(table.markdown() for table in tables))
    print(f"\nwritten: {out / 'engines.json'}, {out / 'engines.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

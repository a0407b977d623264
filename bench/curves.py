"""`make curves`: the time an element from 10^3 to 10^8, measured into curves.json and drawn into docs/pictures.

`--draw` only draws what curves.json holds.
"""

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorbuf.bench import jobs, machine
from tensorbuf.bench.contest import FULL_HD, Job
from tensorbuf.bench.race import check, race

HERE = Path(__file__).parent
MEASURED = HERE / "curves.json"
PICTURES = HERE.parent / "docs" / "pictures"

# The job of each picture.
CURVES = {
    "cast": "float32 to uint8, saturating",
    "widen": "uint8 to float32",
    "normalize": "uint8 HWC to float32 CHW, normalize",
    "quantize": "float32 to int8, quantise",
}

SIZES = [round(10 ** (half / 2)) for half in range(6, 17)]
ROW = 1000
REPEATS = 15
FEW_REPEATS, FEW_FROM = 5, 10**7

COLOURS = {
    "tensorbuf": "#c2185b",
    "numpy": "#1565c0",
    "numpy, direct": "#64b5f6",
    "torch": "#ef6c00",
    "cv2": "#2e7d32",
    "blobFromImage": "#2e7d32",
    "split+addWeighted": "#6a1b9a",
    "memcpy": "#757575",
}


def frame(elements: int) -> tuple[int, int, int]:
    """The shape of a frame with about so many samples."""
    pixels = elements // 3
    width = min(pixels, ROW)
    return pixels // width, width, 3


def measure() -> dict[str, Any]:
    machine.check_build()
    named = {job.name: job for job in jobs.JOBS if job.shape == FULL_HD}
    curves = {picture: {"job": job, "points": list(_points(named[job]))} for picture, job in CURVES.items()}
    return {"machine": machine.description(), "curves": curves}


def _points(job: Job) -> Iterator[dict[str, Any]]:
    for size in SIZES:
        shape = frame(size)
        contenders = job.contenders(shape)
        check(job.name, contenders)
        times = race(contenders, FEW_REPEATS if size >= FEW_FROM else REPEATS)
        fastest: dict[str, float] = {}
        for contender, time in zip(contenders, times, strict=True):
            fastest[contender.peer] = min(time, fastest.get(contender.peer, time))
        elements = shape[0] * shape[1] * shape[2]
        yield {"elements": elements, "nanoseconds": {peer: 1e9 * each / elements for peer, each in fastest.items()}}
        print(f"{job.name}: {elements} elements", flush=True)


# The picture: both axes are logarithmic, a decade of the first is 90 wide and one of the second 110 high.
LEFT, TOP, RIGHT, BOTTOM = 70, 100, 20, 50
DECADE_X, DECADE_Y = 90, 110
FIRST, LAST = 3, 8


def draw(measured: dict[str, Any]) -> None:
    PICTURES.mkdir(exist_ok=True)
    for picture, curve in measured["curves"].items():
        (PICTURES / f"{picture}.svg").write_text(picture_of(curve, measured["machine"]), "utf-8")


def picture_of(curve: dict[str, Any], measured_on: dict[str, str]) -> str:
    """An SVG of one curve: a line a peer."""
    points = curve["points"]
    values = [value for point in points for value in point["nanoseconds"].values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    width, height = LEFT + DECADE_X * (LAST - FIRST) + RIGHT, TOP + DECADE_Y * (high - low) + BOTTOM

    def x(elements: float) -> float:
        return LEFT + DECADE_X * (math.log10(elements) - FIRST)

    def y(value: float) -> float:
        return TOP + DECADE_Y * (high - math.log10(value))

    where = f"{measured_on['processor']}, {measured_on['compiler']}, {measured_on['date'][:10]}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{curve["job"]}</text>',
        f'<text x="{LEFT}" y="36" fill="#555" font-size="10">{where}</text>',
    ]
    for power in range(FIRST, LAST + 1):
        at = x(10**power)
        lines.append(f'<path d="M{at} {TOP}V{height - BOTTOM}" stroke="#ddd"/>')
        lines.append(f'<text x="{at}" y="{height - BOTTOM + 18}" text-anchor="middle">{_power(power)}</text>')
    for power in range(low, high + 1):
        at = y(10**power)
        lines.append(f'<path d="M{LEFT} {at}H{width - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{10**power:g} ns</text>')
    lines.append(f'<text x="{(LEFT + width - RIGHT) / 2}" y="{height - 10}" text-anchor="middle">elements</text>')
    for number, peer in enumerate(points[0]["nanoseconds"]):
        path = " ".join(f"{x(p['elements']):.1f},{y(p['nanoseconds'][peer]):.1f}" for p in points)
        stroke = f'stroke="{COLOURS[peer]}" stroke-width="{3 if peer == "tensorbuf" else 1.5}"'
        dashes = ' stroke-dasharray="4 3"' if peer == "memcpy" else ""
        lines.append(f'<polyline points="{path}" fill="none" {stroke}{dashes}/>')
        across, down = LEFT + 150 * (number % 3), 54 + 18 * (number // 3)
        lines.append(f'<path d="M{across} {down}h14" {stroke}{dashes}/>')
        lines.append(f'<text x="{across + 18}" y="{down + 4}" font-size="11">{peer}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _power(power: int) -> str:
    return f'10<tspan dy="-5" font-size="9">{power}</tspan>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", action="store_true", help="only draw what curves.json holds")
    if not parser.parse_args().draw:
        MEASURED.write_text(json.dumps(measure(), indent=1) + "\n", "utf-8")
    draw(json.loads(MEASURED.read_text("utf-8")))


if __name__ == "__main__":
    main()

"""Find the face on a photograph with a real model, and draw it.

    pip install "tensorbuf[images,litert]"
    python examples/find_face.py [PHOTOGRAPH] [OUT.png]

The photograph is resized by Pillow, normalised in one pass straight into the memory that the model's input tensor asks
for, and goes through LiteRT's interpreter. The model is MediaPipe's BlazeFace for faces near the camera.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image, ImageDraw

from tensorbuf import Converter, TensorBuffer, litert

DATA = Path(__file__).parent / "data"
MODEL = DATA / "face_detection_short_range.tflite"
PHOTOGRAPH = DATA / "astronaut.png"

# Pixels from 0..255 to the model's -1..1.
NORMALIZE = Converter.normalize(0.5, 0.5)

# The grids of anchors, from first to last: cells in a row and a column, anchors in the middle of each cell. Strides of
# 8, 16, 16 and 16 pixels on a picture of 128 with two anchors each come to two grids of 16x16x2 and 8x8x6.
INPUT_SIZE = 128
GRIDS = ((16, 2), (8, 6))
KEY_POINTS = ("right eye", "left eye", "nose", "mouth", "right ear", "left ear")


class Face(NamedTuple):
    """Positions are fractions of the picture's width and height."""

    anchor: int
    score: float
    box: np.ndarray  # left, top, right, bottom
    points: np.ndarray  # a row (x, y) for each of KEY_POINTS


def anchors() -> np.ndarray:
    """The centres (x, y) of all 896 anchors, as fractions of the picture."""
    grids = []
    for cells, count in GRIDS:
        centres = (np.arange(cells) + 0.5) / cells
        y, x = np.meshgrid(centres, centres, indexing="ij")
        grids.append(np.repeat(np.stack([x, y], axis=-1).reshape(-1, 2), count, axis=0))
    return np.concatenate(grids)


def best_face(regressors: np.ndarray, classificators: np.ndarray) -> Face:
    """The anchor with the highest score, decoded.

    A score is the sigmoid of its logit. The 16 numbers of an anchor are pixels of the model's input: the centre of the
    box, relative to that of the anchor; its width and height; and six key points, relative to the anchor as well. The
    size of an anchor is fixed to that of the picture, so it scales nothing.
    """
    logits = classificators.reshape(-1)
    anchor = int(logits.argmax())
    score = 1 / (1 + np.exp(-float(logits[anchor])))
    pairs = regressors.reshape(-1, 8, 2)[anchor].astype(float) / INPUT_SIZE
    origin = anchors()[anchor]
    centre, size, points = origin + pairs[0], pairs[1], origin + pairs[2:]
    return Face(anchor, score, np.concatenate([centre - size / 2, centre + size / 2]), points)


def find_face(photograph: Image.Image) -> Face:
    """Photograph in, face out."""
    interpreter = Interpreter(str(MODEL))
    interpreter.allocate_tensors()
    [wanted] = interpreter.get_input_details()

    tensor = TensorBuffer.for_tensor(wanted)
    pixels = np.asarray(photograph.convert("RGB").resize((INPUT_SIZE, INPUT_SIZE)))
    NORMALIZE(pixels[np.newaxis], out=tensor)

    interpreter.set_tensor(wanted["index"], tensor.to_numpy())
    interpreter.invoke()
    outputs = {
        details["name"]: litert.output_converter(details)(interpreter.get_tensor(details["index"]))
        for details in interpreter.get_output_details()
    }
    return best_face(outputs["regressors"], outputs["classificators"])


def draw(photograph: Image.Image, face: Face) -> Image.Image:
    """A copy of the photograph with the box and the key points."""
    drawn = photograph.convert("RGB")
    canvas = ImageDraw.Draw(drawn)
    line = max(2, drawn.width // 200)
    size = np.array(drawn.size)
    corners = (face.box.reshape(2, 2) * size).tolist()
    canvas.rectangle([tuple(corner) for corner in corners], outline="lime", width=line)
    for x, y in (face.points * size).tolist():
        canvas.ellipse([x - line, y - line, x + line, y + line], fill="red")
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description="Find the face on a photograph, and draw it.")
    parser.add_argument("photograph", nargs="?", type=Path, default=PHOTOGRAPH)
    parser.add_argument("out", nargs="?", type=Path, default=Path("face.png"))
    arguments = parser.parse_args()
    with Image.open(arguments.photograph) as photograph:
        face = find_face(photograph)
        draw(photograph, face).save(arguments.out)
    left, top, right, bottom = face.box
    print(f"anchor {face.anchor}, score {face.score:.5f}")
    print(f"box from ({left:.3f}, {top:.3f}) to ({right:.3f}, {bottom:.3f}) of the picture")
    for name, (x, y) in zip(KEY_POINTS, face.points, strict=True):
        print(f"{name} at ({x:.3f}, {y:.3f})")
    print(f"drawn on {arguments.out}")


if __name__ == "__main__":
    main()

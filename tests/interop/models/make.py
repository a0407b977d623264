"""Makes the models of this folder, by TensorFlow 2.21: one small network, with numbers or with integers at its ends.

python tests/interop/models/make.py
"""

from pathlib import Path

import numpy as np
import tensorflow as tf

WEIGHTS = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
CALIBRATION = np.random.default_rng(1).uniform(-2, 3, (100, 1, 8)).astype(np.float32)
ACTIVATIONS = {
    "int8": tf.lite.OpsSet.TFLITE_BUILTINS_INT8,
    "int16": tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8,
}


class Network(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([1, 8], tf.float32)])
    def __call__(self, x):
        return tf.nn.softmax(tf.nn.relu(tf.matmul(x, WEIGHTS)))


def make(inside: str, ends: str) -> bytes:
    network = Network()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([network.__call__.get_concrete_function()], network)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([x] for x in CALIBRATION)
    converter.target_spec.supported_ops = [ACTIVATIONS[inside]]
    converter.inference_input_type = converter.inference_output_type = tf.as_dtype(ends)
    return converter.convert()


for inside, ends in (
    ("int8", "float32"),
    ("int8", "int8"),
    ("int8", "uint8"),
    ("int16", "float32"),
    ("int16", "int16"),
):
    Path(__file__).with_name(f"{inside}_{ends}.tflite").write_bytes(make(inside, ends))

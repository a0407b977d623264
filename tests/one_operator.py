"""LiteRT models of one operator, built from the format's own schema."""

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

# The types of LiteRT's tensors by numpy's names.
TYPES = {name.lower(): number for name, number in vars(schema.TensorType).items() if not name.startswith("_")}


def tensor(
    dtype: str,
    shape: Sequence[int],
    scales: Sequence[float] = (),
    zero_points: Sequence[int] = (),
    axis: int = 0,
    signature: Sequence[int] | None = None,
) -> Any:
    """A tensor, quantised if there are scales; `signature` is its shape with -1 where that is open."""
    made = schema.TensorT()
    made.name, made.type, made.shape, made.shapeSignature = dtype, TYPES[dtype], list(shape), signature
    if scales:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale, made.quantization.zeroPoint = list(scales), list(zero_points)
        made.quantization.quantizedDimension = axis
    return made


def model(operator: str, taken: Any, given: Any) -> bytes:
    """The file of a model that takes a tensor, applies the operator, and gives a tensor."""
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, operator)
    code.version = 3
    step = schema.OperatorT()
    step.opcodeIndex, step.inputs, step.outputs = 0, [0], [1]
    graph = schema.SubGraphT()
    graph.tensors, graph.inputs, graph.outputs, graph.operators = [taken, given], [0], [1], [step]
    whole = schema.ModelT()
    whole.version, whole.buffers, whole.operatorCodes, whole.subgraphs = 3, [schema.BufferT()], [code], [graph]
    builder = flatbuffers.Builder()
    builder.Finish(whole.Pack(builder), b"TFL3")
    return bytes(builder.Output())


class OneOperator:
    """An interpreter of such a model, by default with LiteRT's reference kernels."""

    def __init__(
        self, operator: str, taken: Any, given: Any, kernels: OpResolverType = OpResolverType.BUILTIN_REF
    ) -> None:
        content = model(operator, taken, given)
        self.interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kernels)
        self.interpreter.allocate_tensors()

    @property
    def taken(self) -> dict[str, Any]:
        [details] = self.interpreter.get_input_details()
        return details

    @property
    def given(self) -> dict[str, Any]:
        [details] = self.interpreter.get_output_details()
        return details

    def __call__(self, x: Any) -> np.ndarray:
        self.interpreter.set_tensor(self.taken["index"], x)
        self.interpreter.invoke()
        return self.interpreter.get_tensor(self.given["index"])

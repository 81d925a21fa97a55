import type { ModelInfo, TensorSignature } from '../../wire/inference/models.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import type { ServedTensorModels } from '../port/services.ts'
import type { InferenceModel, InferenceResult } from './model.ts'
import type { Tensor, TensorMetadata } from './tensor.ts'

/** A model of any kind: its tensors go to the process that runs it as they are. */
export class TensorModel implements InferenceModel {
  readonly platform: string
  readonly inputs: readonly TensorMetadata[]
  readonly outputs: readonly TensorMetadata[]
  private readonly models: ServedTensorModels

  constructor(models: ServedTensorModels, { kind, inputs, outputs }: ModelInfo) {
    this.models = models
    this.platform = kind === 'onnx' ? 'onnx_onnxv1' : `weir_${kind}`
    this.inputs = inputs.map(metadataOf)
    this.outputs = outputs.map(metadataOf)
  }

  async infer(
    name: string,
    inputs: readonly Tensor[],
    options: QueryOptions,
  ): Promise<InferenceResult> {
    const given = inputs.map((tensor) => ({ ...tensor, data: arrayOf(tensor) }))
    const answer = await this.models.infer(name, given, options)
    const { outputs, modelVersion, isCached, queueMicros, runMicros } = answer
    const served = { isCached, queueNs: queueMicros * 1000, computeNs: runMicros * 1000 }
    return { modelVersion, items: inputs[0]?.shape[0] ?? 1, outputs, served }
  }
}

function metadataOf({ name, datatype, shape }: TensorSignature): TensorMetadata {
  return { name, datatype, shape }
}

/** The gateway reads numbers into typed arrays, and only texts and booleans into lists. */
function arrayOf({ data }: Tensor) {
  return data as Exclude<Tensor['data'], readonly number[]>
}

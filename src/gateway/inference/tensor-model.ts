import { requireArgument, WeirError } from '../../core/errors.ts'
import type { LocalInferResult } from '../../wire/inference/infer.ts'
import type { ModelInfo, TensorSignature } from '../../wire/inference/models.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import type { ServedTensorModels } from '../port/services.ts'
import type { AskedBy, InferenceModel, InferenceResult } from './model.ts'
import { BytesTensor, rawTensorOf, type Tensor, type TensorMetadata } from './tensor.ts'

/** A model of any kind: its tensors go to the process that runs it as they are. */
export class TensorModel implements InferenceModel {
  readonly takesSequences = true
  readonly takesContexts: boolean
  readonly platform: string
  readonly inputs: readonly TensorMetadata[]
  readonly outputs: readonly TensorMetadata[]
  readonly maxBatchItems: number
  readonly batching: string
  readonly sloMs: number
  readonly answersInParts: boolean
  private readonly models: ServedTensorModels

  constructor(models: ServedTensorModels, info: ModelInfo) {
    const { kind, inputs, outputs, maxBatchItems, batching, sloMs } = info
    this.models = models
    this.maxBatchItems = maxBatchItems
    this.batching = batching
    this.sloMs = sloMs
    // The way to another process has whole answers only.
    this.answersInParts = info.parts === true && models.inferParts !== undefined
    this.takesContexts = kind === 'pipeline'
    this.platform = kind === 'onnx' ? 'onnx_onnxv1' : `weir_${kind}`
    this.inputs = inputs.map(metadataOf)
    this.outputs = outputs.map(metadataOf)
  }

  async infer(
    name: string,
    inputs: readonly Tensor[],
    options: QueryOptions,
    asked: AskedBy = {},
  ): Promise<InferenceResult> {
    const { request, run } = this.asking(name, inputs, { options, asked })
    return resultOf(inputs, await this.models.inferRaw(name, request, run))
  }

  async *parts(
    name: string,
    inputs: readonly Tensor[],
    options: QueryOptions,
    asked: AskedBy = {},
  ): AsyncGenerator<InferenceResult> {
    const { models } = this
    if (models.inferParts === undefined) return yield await this.infer(name, inputs, options, asked)
    const { request, run } = this.asking(name, inputs, { options, asked })
    for await (const part of models.inferParts(name, request, run)) yield resultOf(inputs, part)
  }

  /** What the process that runs the model is asked. Throws INVALID_ARGUMENT, UNSUPPORTED. */
  private asking(
    name: string,
    inputs: readonly Tensor[],
    {
      options,
      asked: { owner, sequence, context },
    }: { readonly options: QueryOptions; readonly asked: AskedBy },
  ) {
    const { consistency = { level: 'live' } } = options
    requireArgument(
      consistency.level === 'live',
      `model "${name}" runs in a process of its own and reads no state; weir-consistency "${consistency.level}" does not apply to it, leave it out`,
    )
    const isHere = this.models.takesOwner === true
    if (context !== undefined && !isHere) throw noContextThere(name)
    if (sequence !== undefined && !isHere) throw elsewhere(name)
    return {
      request: { inputs: inputs.map(rawTensorOf), outputs: [] },
      run: isHere ? { ...options, owner, sequence, context } : options,
    }
  }
}

function resultOf(inputs: readonly Tensor[], answer: LocalInferResult): InferenceResult {
  const { modelVersion, isCached, queueMicros, runMicros, sequenceStep, decision, reason } = answer
  const outputs = answer.outputs.map((output) => new BytesTensor(output))
  const served = { isCached, queueNs: queueMicros * 1000, computeNs: runMicros * 1000 }
  const items = inputs[0]?.shape[0] ?? 1
  return { modelVersion, items, outputs, sequenceStep, decision, reason, served }
}

function metadataOf({ name, datatype, shape, itemAxis, takes }: TensorSignature): TensorMetadata {
  return { name, datatype, shape, itemAxis, takes }
}

function elsewhere(model: string): WeirError {
  const message = `model "${model}" runs in another process, and the way there has no sequences; ask the HTTP or gRPC port of that process itself`
  return new WeirError('UNSUPPORTED', message)
}

function noContextThere(model: string): WeirError {
  const message = `model "${model}" runs in another process, and the way there has no context; ask the HTTP or gRPC port of that process itself`
  return new WeirError('UNSUPPORTED', message)
}

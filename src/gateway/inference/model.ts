import type { SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import type { RequestOwner } from '../../serving/port/request-owner.ts'
import type { PipelineDecision } from '../../wire/inference/infer.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import type { VersionedAnswer } from './one-version.ts'
import type { Tensor, TensorMetadata } from './tensor.ts'

/** Outputs of a model with the version that answered. */
export interface InferenceResult {
  readonly modelVersion: number
  readonly outputs: readonly Tensor[]
  /** Items of the batch. */
  readonly items: number
  /** Step of the sequence after this answer. */
  readonly sequenceStep?: string | undefined
  /** What a pipeline decided. */
  readonly decision?: PipelineDecision | undefined
  /** Why the default answers, of a pipeline; empty otherwise. */
  readonly reason?: string
  /** Wait for a worker, its run, and whether a cache answered; a model of rows has none of them. */
  readonly served?: {
    readonly queueNs: number
    readonly computeNs: number
    readonly isCached: boolean
  }
}

/** Who asks, and in which sequence of requests. */
export interface AskedBy {
  readonly owner?: RequestOwner | undefined
  /** Whose request it is; only of a model with `takesContexts`. */
  readonly context?: string | undefined
  /** Only of a model with `takesSequences`. */
  readonly sequence?: SequenceTerms | undefined
}

/** A kind of model behind the Open Inference Protocol. */
export interface InferenceModel {
  readonly platform: string
  readonly inputs: readonly TensorMetadata[]
  readonly outputs: readonly TensorMetadata[]
  /** Most items of a run that requests share; 0 where each runs alone. A model of rows has no runs. */
  readonly maxBatchItems?: number
  /** As `ModelInfo.batching`. */
  readonly batching?: string
  /** Latency goal of requests that name no deadline, ms; 0 or absent for none. */
  readonly sloMs?: number
  /** Whether it learns by context, as a pipeline does. @default false */
  readonly takesContexts?: boolean
  /** Whether it takes requests of a sequence; a model of rows carries nothing. @default false */
  readonly takesSequences?: boolean
  /**
   * Answers a batch from one version. A request whose owner is gone may be given up. Rejects with the error of the first
   * item that failed.
   */
  infer(
    state: string,
    inputs: readonly Tensor[],
    options: QueryOptions,
    asked?: AskedBy,
  ): Promise<InferenceResult>
  /** Whether its answers come in parts. @default false */
  readonly answersInParts?: boolean
  /** As `infer`, of a model that may answer in parts: each is made when it is asked for. @default whole answers */
  parts?(
    state: string,
    inputs: readonly Tensor[],
    options: QueryOptions,
    asked?: AskedBy,
  ): AsyncIterable<InferenceResult>
}

/** The tensor of an input that is not optional; `readRequest` has checked that it is there. */
export function inputOf(inputs: readonly Tensor[], name: string): Tensor {
  return inputs.find((tensor) => tensor.name === name)!
}

/** Result of a model of rows: a tensor for each declared output, in order, all of one shape. */
export function resultOf(
  answers: readonly VersionedAnswer[],
  declared: readonly TensorMetadata[],
  { shape, data }: { readonly shape: readonly number[]; readonly data: readonly Tensor['data'][] },
): InferenceResult {
  const outputs = declared.map(({ name, datatype }, i) => ({
    name,
    datatype,
    shape,
    data: data[i]!,
  }))
  return { modelVersion: answers[0]?.modelVersion ?? 0, items: answers.length, outputs }
}

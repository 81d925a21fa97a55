import type { SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import type { InferRequest, LocalInferAnswer } from '../../wire/inference/infer.ts'
import type { ModelInfo, ModelsRequest } from '../../wire/inference/models.ts'
import type { RequestOwner } from './request-owner.ts'

/** Terms of one INFER request. */
export interface InferTerms {
  /** Version that is wanted; 0 for the one that is live. */
  readonly version: number
  /** Time until the answer in ms; undefined for the latency goal of the model. */
  readonly deadlineMs: number | undefined
  /** Gives up the request when the client is gone. @default the request goes on */
  readonly owner?: RequestOwner
  /** Whose request it is, for a pipeline that learns by context. */
  readonly context?: string | undefined
  /** The sequence of a request, of a model that carries a state. */
  readonly sequence?: SequenceTerms
}

/** Answer of a model, with the version that gave it. */
export interface VersionedInferAnswer {
  readonly version: number
  readonly answer: LocalInferAnswer
}

/** What the routing table has of a model. */
export interface ModelState {
  readonly name: string
  /** Versions that are loaded, ascending. */
  readonly versions: readonly number[]
  /** 0 while no version is live. */
  readonly liveVersion: number
}

/** Models of any kind that a query server asks. */
export interface ModelsBackend {
  /**
   * Runs a model. `model` is a name, or a name and an alias, `ocr@stable`. Rejects with UNKNOWN_MODEL,
   * UNKNOWN_VERSION, SIGNATURE_MISMATCH, OVERLOADED, DEADLINE_EXCEEDED, MODEL_FAILED and other codes of the
   * engine. The bytes of the inputs are read before it returns.
   */
  infer(model: string, request: InferRequest, terms: InferTerms): Promise<VersionedInferAnswer>
  /**
   * The answer of a model in parts, each made when it is asked for; of a model that gives whole answers, that one. Throws and
   * rejects as `infer`.
   */
  inferParts(
    model: string,
    request: InferRequest,
    terms: InferTerms,
  ): AsyncIterable<VersionedInferAnswer>
  /** All models, without what changes from request to request. */
  states(): readonly ModelState[]
  /** The model of this name, or all for an empty name. Throws UNKNOWN_MODEL. */
  list(model: string): readonly ModelInfo[]
  /** Loads or unloads a model; resolves when it is done. */
  change(action: Exclude<ModelsRequest['action'], 'list'>, model: string): Promise<void>
}

import type { DecisionReward, RewardOutcome } from '../../inference/port/request.ts'
import type { PushedVersion } from '../../inference/repository/push.ts'
import type { SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import type { RequestOwner } from '../../serving/port/request-owner.ts'
import type { EncodedPairs, PairPredictions } from '../../wire/encoded-pairs.ts'
import type { InferRequest, LocalInferResult } from '../../wire/inference/infer.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'
import type { LinearPrediction, LinearPredictOptions } from '../../wire/linear-prediction.ts'
import type {
  ModelReader,
  PredictOptions,
  QueryOptions,
  SparseVector,
} from '../../wire/model-reader.ts'
import type { RoutingTable } from '../../wire/routing-table.ts'
import type { ApplicationRoute } from './application.ts'
import type { ModelControl } from './model-control.ts'
import type { Rescorer } from './rescorer.ts'

/** Options of a run of a model. */
export interface RunOptions extends QueryOptions {
  /** Gives up the request when the client is gone. @default it runs */
  readonly owner?: RequestOwner | undefined
  /** The sequence of the request, where `takesOwner`. */
  readonly sequence?: SequenceTerms | undefined
  /** Whose request it is, where `takesOwner`. */
  readonly context?: string | undefined
}

/** Models of any kind that a process serves. */
export interface ServedTensorModels {
  /** Whether `inferRaw` takes an owner; over the network it does not. @default false */
  readonly takesOwner?: boolean
  /** Runs a model on tensors whose elements are bytes. Rejects with the answer's error. */
  inferRaw(model: string, request: InferRequest, options?: RunOptions): Promise<LocalInferResult>
  /**
   * Runs a model that may answer in parts. Rejects with the answer's error. Not over the network, where a model gives whole
   * answers only.
   */
  inferParts?(
    model: string,
    request: InferRequest,
    options?: RunOptions,
  ): AsyncIterable<LocalInferResult>
  /**
   * Takes a reward for an answer of a pipeline. Rejects with UNKNOWN_MODEL, UNSUPPORTED, INVALID_ARGUMENT. Not over the
   * network.
   */
  observeDecision?(model: string, reward: DecisionReward): Promise<RewardOutcome>
  /** All models, with their statistics. */
  models(options?: QueryOptions): Promise<readonly ModelInfo[]>
  /** Inputs, outputs and versions of a model. Rejects with UNKNOWN_MODEL. */
  signature(model: string): Promise<ModelInfo>
  /** Loads or unloads a model; resolves when it is done. */
  changeModel(action: 'load' | 'unload', model: string): Promise<ModelInfo>
}

/** State of a running job as the gateway reads it; `WeirClient` is one. */
export interface ServedState extends ModelReader, Partial<ServedTensorModels> {
  /** Endpoints and states of the job, as last reported. */
  readonly routing: RoutingTable
  /** The same, asked of the job now. Rejects with UNAVAILABLE. */
  refreshRouting(): Promise<RoutingTable>
  /** Predictions of many pairs whose keys are encoded. Errors of single pairs are answers. */
  predictPairs(
    state: string,
    pairs: EncodedPairs,
    options?: PredictOptions,
  ): Promise<PairPredictions>
  /** Decision value and label of an example; a text has names of features. Rejects with the answer's error. */
  predictLinear(
    state: string,
    features: SparseVector | string,
    options?: LinearPredictOptions,
  ): Promise<LinearPrediction>
}

/** A model that is sent to the gateway. */
export interface RegisteredModel {
  readonly name: string
  /** @default one more than the highest */
  readonly version?: number
  /** Ending of the model's file: `onnx`, `ts`, `js`, `mjs` or `json`. */
  readonly format: string
  readonly bytes: Uint8Array
}

/** Repository that takes models. */
export interface ModelRegistryPort {
  /** Stores a model as a version. Rejects with INVALID_ARGUMENT, ACCESS_DENIED, VERSION_EXISTS, DISK_FULL. */
  register(model: RegisteredModel): Promise<PushedVersion>
}

/** A place in the topic of observations. */
export interface StoredPosition {
  readonly partition: number
  readonly offset: number
}

/** Topic that takes observations. */
export interface ObservationTopic {
  /** Name of the topic. */
  readonly topic: string
  /**
   * Resolves when all observations are durable, with a position in each partition that has some of them, at the last
   * one or behind it; empty where positions are not known. Rejects with INVALID_ARGUMENT, before any is sent, if one
   * cannot be written, with DEADLINE_EXCEEDED after `deadlineMs`, and with other codes; it is then not known whether
   * they are durable.
   */
  append(observations: readonly Rating[], deadlineMs: number): Promise<readonly StoredPosition[]>
  /** Resolves when the topic can be reached; rejects with the reason, or DEADLINE_EXCEEDED. */
  reachable(deadlineMs: number): Promise<void>
}

/** What the routes of a gateway work with. */
export interface GatewayServices {
  readonly state: ServedState
  /** A job that keeps the histories of users. @default those of `state`, if it has them */
  readonly histories?: ServedState
  /** Gives the items of lists other values. @default the scores are the values */
  readonly rescorer?: Rescorer
  /** Paths of an application over the states. @default none */
  readonly application?: readonly ApplicationRoute[]
  /** @default the gateway takes no observations */
  readonly observations?: ObservationTopic
  /** @default the gateway administers no model */
  readonly models?: ModelControl
  /** Lets clients load and unload models, and register them where there is a registry. @default they may not */
  readonly modelControl?: { readonly registry?: ModelRegistryPort }
}

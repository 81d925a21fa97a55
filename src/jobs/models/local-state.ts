import { WeirError } from '../../core/errors.ts'
import type { DecisionReward, RewardOutcome } from '../../inference/port/request.ts'
import type { InferTerms, ModelsBackend } from '../../serving/port/models-backend.ts'
import type { QueryBackend } from '../../serving/port/query-backend.ts'
import type { OwnedQueryOptions } from '../../serving/port/request-owner.ts'
import type { InferRequest, LocalInferResult } from '../../wire/inference/infer.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { RoutingTable } from '../../wire/routing-table.ts'

/** Takes a reward for an answer of a pipeline. */
type RewardTaker = (model: string, reward: DecisionReward) => RewardOutcome

/** A query backend that has models of any kind. */
type ModelsBackendOf = Pick<QueryBackend, 'reader' | 'routingEpoch' | 'routing'> & {
  readonly models: ModelsBackend
}

/** The models of this process as a gateway reads them, without a connection. */
export class LocalModelsState implements ModelReader {
  readonly takesOwner = true
  readonly rows: ModelReader['rows']
  readonly values: ModelReader['values']
  readonly scan: ModelReader['scan']
  readonly predict: ModelReader['predict']
  readonly predictWithEnvelope: ModelReader['predictWithEnvelope']
  readonly sparseDot: ModelReader['sparseDot']
  readonly topK: ModelReader['topK']
  private readonly backend: ModelsBackendOf
  private readonly rewarded: RewardTaker
  private table: RoutingTable

  /** `rewarded`: takes a reward for a decision of a pipeline, by the reference of the model. */
  constructor(backend: ModelsBackendOf, rewarded: RewardTaker) {
    const { reader } = backend
    this.backend = backend
    this.rewarded = rewarded
    this.table = backend.routing()
    this.rows = reader.rows
    this.values = reader.values
    this.scan = reader.scan
    this.predict = reader.predict
    this.predictWithEnvelope = reader.predictWithEnvelope
    this.sparseDot = reader.sparseDot
    this.topK = reader.topK
  }

  /** The models of now; the same object until one changes. */
  get routing(): RoutingTable {
    if (this.table.epoch !== this.backend.routingEpoch()) this.table = this.backend.routing()
    return this.table
  }

  /** As `routing`. */
  async refreshRouting(): Promise<RoutingTable> {
    return this.routing
  }

  /** Rejects with UNKNOWN_STATE: there are no rows. */
  async predictPairs(): Promise<never> {
    throw noRows()
  }

  /** Rejects with UNKNOWN_STATE: there are no rows. */
  async predictLinear(): Promise<never> {
    throw noRows()
  }

  /** Runs a model; rejects as `ModelsBackend.infer`. */
  async inferRaw(
    model: string,
    request: InferRequest,
    options: OwnedQueryOptions = {},
  ): Promise<LocalInferResult> {
    const answered = await this.backend.models.infer(model, request, termsOf(options))
    return { modelVersion: answered.version, ...answered.answer }
  }

  /** Runs a model that may answer in parts; rejects as `ModelsBackend.inferParts`. */
  async *inferParts(
    model: string,
    request: InferRequest,
    options: OwnedQueryOptions = {},
  ): AsyncGenerator<LocalInferResult> {
    const parts = this.backend.models.inferParts(model, request, termsOf(options))
    for await (const part of parts) {
      yield { modelVersion: part.version, ...part.answer }
    }
  }

  /** Takes a reward for an answer of a pipeline. Rejects with UNKNOWN_MODEL, UNSUPPORTED, INVALID_ARGUMENT. */
  async observeDecision(model: string, reward: DecisionReward): Promise<RewardOutcome> {
    return this.rewarded(model, reward)
  }

  /** All models, with their statistics. */
  async models(): Promise<readonly ModelInfo[]> {
    return this.backend.models.list('')
  }

  /** Inputs, outputs and versions of a model. Rejects with UNKNOWN_MODEL. */
  async signature(model: string): Promise<ModelInfo> {
    return this.backend.models.list(model)[0]!
  }

  /** Loads or unloads a model; resolves when it is done. */
  async changeModel(action: 'load' | 'unload', model: string): Promise<ModelInfo> {
    await this.backend.models.change(action, model)
    return await this.signature(model)
  }
}

function termsOf({
  version = 0,
  deadlineMs,
  owner,
  sequence,
  context,
}: OwnedQueryOptions): InferTerms {
  const given = sequence === undefined ? { context } : { sequence, context }
  return { version, deadlineMs, ...given, ...(owner === undefined ? {} : { owner }) }
}

function noRows(): WeirError {
  return new WeirError('UNKNOWN_STATE', 'this process serves models of any kind and no rows')
}

import { type Clock, sleep } from '../../core/clock.ts'
import { asWeirError, requireArgument, WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import { readFileSync } from '../../files/durable-files.ts'
import { requireDigest } from '../../files/file-digest.ts'
import type { FileSystem } from '../../files/file-system.ts'
import type { Deployment } from '../port/deployment.ts'
import type { InferenceEngine, ModelStatistics } from '../port/engine.ts'
import { type ModelId, type ModelSource, modelKey } from '../port/model.ts'
import type { ProducerMessage } from '../port/producer-message.ts'
import type {
  DecisionReward,
  InferAnswer,
  InferRequest,
  PartsRequest,
  RewardOutcome,
} from '../port/request.ts'
import type { ServedModel } from '../port/served-model.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { Selector } from '../selectors/selector.ts'
import { checkPipeline, type Plan } from './check.ts'
import { ContextStates } from './contexts.ts'
import type { DecisionSink } from './decision-record.ts'
import { Decisions } from './decisions.ts'
import { invalidPipeline, nameOf, Pipeline } from './pipeline.ts'
import { readPipelineText } from './read-spec.ts'
import type { PipelineSpec, SelectStep } from './spec.ts'

/** The models that the steps of pipelines name. */
export interface NamedModels {
  /** The version that a reference stands for now, as `NAME`, `NAME@ALIAS` or `NAME@VERSION`. Throws where none answers. */
  resolve(reference: string): ModelId
  /** Whether the model of a reference is still to be loaded. */
  isComing(reference: string): boolean
  /** A version that a pipeline names is needed, or is needed no more. */
  hold(reference: string, isNeeded: boolean): void
}

/** Options of an engine with pipelines. */
export interface PipelineEngineOptions {
  readonly engine: InferenceEngine
  readonly files: FileSystem
  readonly clock: Clock
  readonly random: Random
  readonly models: NamedModels
  /** What takes the decisions of a topic. Rejects where the topic cannot be opened. */
  readonly openSink: (topic: string) => Promise<DecisionSink>
  /** The selector of a step. Throws UNKNOWN_OPTION, INVALID_ARGUMENT. */
  readonly openSelector: (step: Pick<SelectStep, 'by' | 'parameters'>) => Selector
}

/** Settings of `deployment.yaml` that a pipeline takes. */
const PIPELINE_SETTINGS: readonly string[] = ['sloMs', 'default', 'warmUp', 'probe']
/** Time in which a model that a pipeline names may show up, and between two looks, ms. */
const GRACE_MS = 2000
const LOOK_MS = 20
/** Time for which the times of a model hold, ms. */
const TIMES_MS = 1000

const REMEDY = 'push the pipeline as a new version'

/** An inference engine whose models may be pipelines of other models. What is no pipeline the engine behind it does. */
export class PipelineEngine implements InferenceEngine {
  private readonly options: PipelineEngineOptions
  private readonly pipelines = new Map<string, Pipeline>()
  /** By the name of the pipeline: what outlives a version. */
  private readonly decisions = new Map<string, Decisions>()
  private readonly states = new Map<string, ContextStates>()
  private readonly times = new Map<string, { readonly atMs: number; readonly p99Ms: number }>()
  private readonly closing = new AbortController()

  constructor(options: PipelineEngineOptions) {
    this.options = options
  }

  async load(
    id: ModelId,
    source: ModelSource,
    deployment: Deployment,
    signal?: AbortSignal,
  ): Promise<ModelSignature> {
    const { engine } = this.options
    if (source.kind !== 'pipeline') return await engine.load(id, source, deployment, signal)
    const name = nameOf(id)
    requireSettings(deployment)
    const spec = await this.read(name, source)
    for (const reference of modelsOf(spec)) this.options.models.hold(reference, true)
    try {
      await this.modelsOf(spec, signal)
      const pipeline = await this.open({ id, name }, spec, deployment)
      this.pipelines.set(modelKey(id), pipeline)
      return pipeline.plan.signature
    } catch (error) {
      for (const reference of modelsOf(spec)) this.options.models.hold(reference, false)
      throw error
    }
  }

  async infer(request: InferRequest): Promise<InferAnswer> {
    const pipeline = this.pipelines.get(modelKey(request.model))
    if (pipeline !== undefined) return await pipeline.infer(request)
    if (request.context !== undefined) throw noContext(request.model)
    return await this.options.engine.infer(request)
  }

  /** A reward for an answer of a pipeline. Throws UNSUPPORTED for another model, and as `Pipeline.observe`. */
  observe(id: ModelId, reward: DecisionReward): RewardOutcome {
    const pipeline = this.pipelines.get(modelKey(id))
    if (pipeline !== undefined) return pipeline.observe(reward)
    const message = `model "${nameOf(id)}" is no pipeline, so it learns from no reward`
    throw new WeirError('UNSUPPORTED', message)
  }

  async unload(id: ModelId): Promise<void> {
    const key = modelKey(id)
    const pipeline = this.pipelines.get(key)
    if (pipeline === undefined) return await this.options.engine.unload(id)
    this.pipelines.delete(key)
    while (pipeline.running > 0) await sleep(this.options.clock, LOOK_MS)
    for (const reference of pipeline.models) this.options.models.hold(reference, false)
  }

  parts(request: PartsRequest): AsyncGenerator<readonly Tensor[]> {
    return this.options.engine.parts(request)
  }

  models(): readonly ServedModel[] {
    return this.options.engine.models()
  }

  model(id: ModelId): ServedModel | undefined {
    return this.options.engine.model(id)
  }

  statistics(id?: ModelId): readonly ModelStatistics[] {
    return this.options.engine.statistics(id)
  }

  /** Counters of a pipeline; undefined for a model. */
  numbersOf(id: ModelId): Readonly<Record<string, number>> | undefined {
    const pipeline = this.pipelines.get(modelKey(id))
    if (pipeline === undefined) return undefined
    const rewards = this.decisions.get(nameOf(id))!.observed
    const contexts = this.contextsOf(nameOf(id), pipeline)
    return {
      ...pipeline.ended,
      ...Object.fromEntries(Object.entries(rewards).map(([as, n]) => [`rewards.${as}`, n])),
      ...(pipeline.lost === undefined ? {} : { decisionsLost: pipeline.lost }),
      contexts: contexts.reduce((sum, of) => sum + of.size, 0),
      contextsEvicted: contexts.reduce((sum, of) => sum + of.evicted, 0),
    }
  }

  async measure(source: ModelSource, deployment: Deployment): Promise<number> {
    return source.kind === 'pipeline' ? 0 : await this.options.engine.measure(source, deployment)
  }

  link(send: (message: ProducerMessage) => void): Disposable {
    return this.options.engine.link(send)
  }

  /** Gives up the loads that wait for models. The engine behind it stays open. */
  close(): void {
    this.closing.abort(new WeirError('ILLEGAL_STATE', 'the engine is closed'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    await this.options.engine[Symbol.asyncDispose]()
  }

  private async read(
    name: string,
    { file, files = [] }: Extract<ModelSource, { kind: 'pipeline' }>,
  ): Promise<PipelineSpec> {
    for (const digest of files) await requireDigest(this.options.files, digest, REMEDY)
    const text = new TextDecoder().decode(readFileSync(this.options.files, file))
    const { spec, faults } = readPipelineText(text, file)
    if (faults.length > 0) throw invalidPipeline(name, faults)
    return spec
  }

  /** Waits until each model answers, or will not. */
  private async modelsOf(spec: PipelineSpec, signal: AbortSignal | undefined): Promise<void> {
    const { clock, models } = this.options
    const startedMs = clock.monotonicMs()
    for (;;) {
      signal?.throwIfAborted()
      this.closing.signal.throwIfAborted()
      const missing = modelsOf(spec).filter((reference) => this.errorOf(reference) !== undefined)
      if (missing.length === 0) return
      const isEarly = clock.monotonicMs() - startedMs < GRACE_MS
      if (!isEarly && !missing.some((reference) => models.isComing(reference))) return
      await sleep(clock, LOOK_MS)
    }
  }

  /** Why the model of a reference cannot be asked; undefined where it can. */
  private errorOf(reference: string): WeirError | undefined {
    try {
      this.options.models.resolve(reference)
      return undefined
    } catch (error) {
      return asWeirError(error, 'MODEL_NOT_LOADED')
    }
  }

  private signatureOf(reference: string): ModelSignature | WeirError {
    const error = this.errorOf(reference)
    if (error !== undefined) return error
    const id = this.options.models.resolve(reference)
    if (this.pipelines.has(modelKey(id))) {
      const message = `"${reference}" is a pipeline, and the steps of a pipeline are models`
      return new WeirError('UNSUPPORTED', message)
    }
    const model = this.options.engine.model(id)
    return model?.signature ?? new WeirError('MODEL_NOT_LOADED', `"${reference}" is not loaded`)
  }

  private async open(
    { id, name }: { readonly id: ModelId; readonly name: string },
    spec: PipelineSpec,
    deployment: Deployment,
  ): Promise<Pipeline> {
    const { clock, random, models, openSelector, openSink } = this.options
    const checked = checkPipeline(spec, {
      signatureOf: (reference) => this.signatureOf(reference),
      openSelector,
      default: deployment.default,
    })
    if ('faults' in checked) throw invalidPipeline(name, checked.faults)
    const { plan } = checked
    const sink = spec.topic === undefined ? undefined : await openSink(spec.topic)
    const states = new Map(
      Array.from(plan.selectors, ([step, selector]) => [
        step,
        this.statesOf(`${name}/${step}`, plan, { step, selector }),
      ]),
    )
    const decisions = this.decisions.get(name) ?? new Decisions(name, random)
    this.decisions.set(name, decisions)
    return new Pipeline({
      id,
      plan,
      deployment,
      states,
      decisions,
      sink,
      resolve: (reference) => models.resolve(reference),
      p99Of: (model) => this.p99Of(model),
      producer: this.options.engine,
      clock,
      random,
    })
  }

  /** The states of a step: those of the version before, for the arms of this one. */
  private statesOf(
    key: string,
    { spec }: Pick<Plan, 'spec'>,
    { step, selector }: { readonly step: string; readonly selector: Selector },
  ): ContextStates {
    const of = spec.steps.get(step)
    const arms = of?.kind === 'select' ? of.arms.map((arm) => arm.name) : []
    const before = this.states.get(key)
    const states =
      before?.moved(selector, arms, spec.contexts) ??
      new ContextStates(selector, arms, spec.contexts)
    this.states.set(key, states)
    return states
  }

  private contextsOf(name: string, { plan }: Pipeline): readonly ContextStates[] {
    return [...plan.selectors.keys()].flatMap((step) => this.states.get(`${name}/${step}`) ?? [])
  }

  /** The time that 99 of 100 answers of a model take, which is counted now and then. */
  private p99Of(id: ModelId): number {
    const key = modelKey(id)
    const nowMs = this.options.clock.monotonicMs()
    const known = this.times.get(key)
    if (known !== undefined && nowMs - known.atMs < TIMES_MS) return known.p99Ms
    const p99Ms = this.options.engine.statistics(id)[0]?.p99Ms ?? 0
    this.times.set(key, { atMs: nowMs, p99Ms })
    return p99Ms
  }
}

function modelsOf({ steps }: PipelineSpec): readonly string[] {
  const models = [...steps.values()].flatMap((step) => (step.kind === 'model' ? [step.model] : []))
  return [...new Set(models)]
}

function requireSettings(deployment: Deployment): void {
  const others = Object.keys(deployment).filter((key) => !PIPELINE_SETTINGS.includes(key))
  requireArgument(
    others.length === 0,
    `a pipeline runs no model itself, so it takes slo-ms, default, version and checks in deployment.yaml, and not ${others.join(', ')}; give those to its models`,
  )
}

function noContext(model: ModelId): WeirError {
  const message = `model "${nameOf(model)}" is no pipeline, so the context would change nothing; leave it out`
  return new WeirError('INVALID_ARGUMENT', message)
}

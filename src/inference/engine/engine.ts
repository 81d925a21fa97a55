import { type Cancel, type Clock, sleep, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { name, numberIn, recordOf } from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Deployment } from '../port/deployment.ts'
import type { InferenceEngine, ModelStatistics } from '../port/engine.ts'
import { type ModelId, type ModelSource, modelKey } from '../port/model.ts'
import type { ProducerMessage, SharedModel } from '../port/producer-message.ts'
import type { InferAnswer, InferRequest, PartsRequest } from '../port/request.ts'
import type { ServedModel } from '../port/served-model.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import { PRODUCER_ROWS } from '../queue/layout.ts'
import { admitProducer, forgetProducer, hasRequests } from '../queue/repair.ts'
import { measureMemory } from '../workers/child-model.ts'
import { checkDeployment, mostItemsOf, workerStartOf, workersOf } from './deployment-plan.ts'
import { Device, type Place } from './device.ts'
import { GraphFolder, removeLostGraphs } from './graph-folder.ts'
import { ModelWorkers } from './model-workers.ts'
import { shapeRequest } from './request-shape.ts'
import { mayShare, SharedWorkers, sharingOf } from './shared-workers.ts'
import { statisticsOf } from './statistics.ts'
import { ThreadProducer, unknownModel } from './thread-producer.ts'

/** Time between two looks at the workers, ms. */
const SUPERVISE_MS = 50
/** Time between two looks of an unload at the requests that are under way, ms. */
const DRAIN_STEP_MS = 2
/** Number of the engine's own thread among the producers. */
const OWN_PRODUCER = 0

/** Options of `openInferenceEngine`. */
export interface InferenceEngineOptions {
  /** @default systemClock */
  readonly clock?: Clock
  /** Memory for all models, bytes: those that are missed least are evicted. @default no limit */
  readonly memoryBytes?: number
  /** Keys of the servers behind remote models, by origin: each server gets its own one as a bearer token. @default none */
  readonly remoteKeys?: Readonly<Record<string, string>>
}

const ENGINE: OptionShape<InferenceEngineOptions> = {
  clock: CLOCK,
  memoryBytes: numberIn({ above: 0, orInfinity: true }),
  remoteKeys: recordOf(name),
}

/** Opens an engine without models, and deletes what engines of killed processes have left. */
export function openInferenceEngine(options: InferenceEngineOptions = {}): InferenceEngine {
  checkOptions('openInferenceEngine', ENGINE, options)
  removeLostGraphs()
  return new ThreadEngine(options.clock ?? systemClock, options)
}

interface Loaded {
  readonly served: ServedModel
  readonly workers: ModelWorkers
  /** Its memory; undefined without a limit. */
  readonly place: Place | undefined
  /** It is being unloaded. */
  isRetired: boolean
}

/** Engine whose workers are threads of this process. */
class ThreadEngine implements InferenceEngine {
  private readonly clock: Clock
  private readonly remoteKeys: Readonly<Record<string, string>>
  private readonly device: Device | undefined
  private readonly graphs = new GraphFolder()
  private readonly asker: ThreadProducer
  private readonly shared = new SharedWorkers()
  /** Models whose workers have threads of their own. */
  private readonly own = new Set<string>()
  private readonly loading = new Map<string, Promise<ModelSignature>>()
  private readonly loaded = new Map<string, Loaded>()
  /** Ways to the linked threads, by the number of their producer. */
  private readonly links = new Map<number, (message: ProducerMessage) => void>()
  private cancelLook: Cancel | undefined
  private isClosed = false
  /** Gives up the loads that are under way when the engine closes. */
  private readonly closing = new AbortController()

  constructor(clock: Clock, { memoryBytes, remoteKeys = {} }: InferenceEngineOptions) {
    this.clock = clock
    this.remoteKeys = remoteKeys
    this.device = memoryBytes === undefined ? undefined : new Device(memoryBytes, clock)
    this.asker = new ThreadProducer(OWN_PRODUCER, clock)
  }

  load(
    id: ModelId,
    source: ModelSource,
    deployment: Deployment,
    signal?: AbortSignal,
  ): Promise<ModelSignature> {
    const key = modelKey(id)
    const known = this.loading.get(key)
    if (known !== undefined) return known
    const given = signal === undefined ? [] : [signal]
    const ends = AbortSignal.any([this.closing.signal, ...given])
    const loading = this.startLoading({ id, deployment }, source, ends)
    this.loading.set(key, loading)
    loading.catch(() => this.loading.delete(key))
    return loading
  }

  async unload(id: ModelId): Promise<void> {
    const key = modelKey(id)
    if (!this.loaded.has(key)) await this.loading.get(key)?.catch(() => {})
    const loaded = this.loaded.get(key)
    if (loaded === undefined || loaded.isRetired) return
    loaded.isRetired = true
    const producer = this.asker.retire(id)
    for (const send of this.links.values()) send({ kind: 'retire', id })
    await this.drain(loaded)
    if (!this.isClosed) await loaded.workers.parts?.idle()
    producer?.close()
    await loaded.workers.close()
    loaded.place?.free()
    this.loaded.delete(key)
    this.loading.delete(key)
    this.own.delete(key)
  }

  infer(request: InferRequest): Promise<InferAnswer> {
    return this.asker.infer(request)
  }

  parts({ model, inputs, deadlineMs, asker }: PartsRequest): AsyncGenerator<readonly Tensor[]> {
    const loaded = this.loaded.get(modelKey(model))
    if (loaded === undefined || loaded.isRetired) throw unknownModel(model)
    const { parts, signature } = loaded.workers
    if (parts === undefined) {
      throw new WeirError('UNSUPPORTED', `model "${model.name}" does not answer in parts`)
    }
    return parts.ask({ inputs: shapeRequest(signature, inputs).inputs, deadlineMs, asker })
  }

  models(): readonly ServedModel[] {
    return this.asker.models()
  }

  model(id: ModelId): ServedModel | undefined {
    return this.asker.model(id)
  }

  statistics(id?: ModelId): readonly ModelStatistics[] {
    const { device } = this
    const one = id === undefined ? undefined : this.loaded.get(modelKey(id))
    const wanted = id === undefined ? [...this.loaded.values()] : one === undefined ? [] : [one]
    const held =
      device === undefined
        ? {}
        : { deviceBytes: device.heldBytes, deviceLimitBytes: device.capacity }
    return wanted.map(({ served, workers, place }) => ({
      ...statisticsOf(served.id, workers, place),
      ...held,
    }))
  }

  async measure(source: ModelSource, deployment: Deployment): Promise<number> {
    checkDeployment(source, deployment)
    return await measureMemory(workerStartOf(source, deployment), mostItemsOf(deployment))
  }

  link(send: (message: ProducerMessage) => void): Disposable {
    const producer = this.freeProducer()
    this.links.set(producer, send)
    const models = [...this.loaded.values()].filter((one) => !one.isRetired).map(shareOf)
    for (const { workers } of this.loaded.values()) admitProducer(workers.memory, producer)
    send({ kind: 'welcome', producer, models })
    return { [Symbol.dispose]: () => this.unlink(producer, send) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    this.closing.abort(new WeirError('ILLEGAL_STATE', 'the engine is closed'))
    await Promise.all([...this.loading.values()].map((loading) => loading.catch(() => {})))
    await Promise.all([...this.loaded.values()].map(({ served }) => this.unload(served.id)))
    this.cancelLook?.()
    this.device?.[Symbol.dispose]()
    this.shared[Symbol.dispose]()
    this.graphs[Symbol.dispose]()
    this.asker.close()
  }

  private async startLoading(
    { id, deployment }: Pick<ServedModel, 'id' | 'deployment'>,
    source: ModelSource,
    signal: AbortSignal,
  ): Promise<ModelSignature> {
    if (this.isClosed) throw new WeirError('ILLEGAL_STATE', 'the engine is closed')
    const place = await this.reserve(id, source, deployment)
    const workers = await this.startWorkers({ id, source, deployment }, place, signal).catch(
      (error) => {
        place?.free()
        this.own.delete(modelKey(id))
        throw error
      },
    )
    place?.hold(workers)
    const { signature } = workers
    const served = { id, signature, deployment }
    const loaded: Loaded = { served, workers, place, isRetired: false }
    this.loaded.set(modelKey(id), loaded)
    this.asker.add(shareOf(loaded))
    for (const send of this.links.values()) send({ kind: 'add', model: shareOf(loaded) })
    if (this.cancelLook === undefined) this.look()
    return signature
  }

  /** The workers of a model, in threads of their own or in those that models share. */
  private async startWorkers(
    {
      id,
      source,
      deployment,
    }: Pick<ServedModel, 'id' | 'deployment'> & { readonly source: ModelSource },
    place: Place | undefined,
    signal: AbortSignal,
  ): Promise<ModelWorkers> {
    const start = (isShared: boolean): Promise<ModelWorkers> =>
      ModelWorkers.start(
        source,
        { ...deployment, isShared },
        {
          clock: this.clock,
          mayLeave: place !== undefined && deployment.isKeptLoaded !== true,
          optimised: this.device === undefined ? undefined : this.graphs.file(),
          onMove: (kind) => place?.moved(kind),
          signal,
          shared: isShared ? this.shared : undefined,
          remoteKey: source.kind === 'remote' ? this.keyOf(source.url) : undefined,
        },
      )
    const sharing = sharingOf(source, deployment, this.own.size)
    if (sharing !== 'own') {
      const workers = await start(true)
      if (sharing === 'shared' || mayShare(workers.runMs)) return workers
      await workers.close()
    }
    this.own.add(modelKey(id))
    return await start(false)
  }

  /** The key of the server behind a remote model. */
  private keyOf(url: string): string | undefined {
    const { origin } = new URL(url)
    return Object.hasOwn(this.remoteKeys, origin) ? this.remoteKeys[origin] : undefined
  }

  /** Room for the model in all its workers; a model on another server needs none. */
  private async reserve(
    id: ModelId,
    source: ModelSource,
    deployment: Deployment,
  ): Promise<Place | undefined> {
    if (this.device === undefined || source.kind === 'remote') return undefined
    const bytes = deployment.memoryBytes ?? (await this.measure(source, deployment))
    const { isKeptLoaded = false } = deployment
    return await this.device.reserve(modelKey(id), bytes * workersOf(deployment), isKeptLoaded)
  }

  private readonly look = (): void => {
    for (const { workers } of this.loaded.values()) workers.supervise()
    const timer = setTimeout(this.look, SUPERVISE_MS).unref()
    this.cancelLook = () => clearTimeout(timer)
  }

  /** Waits until no request of any thread waits or runs, or until their deadlines have passed. */
  private async drain({ workers }: Loaded): Promise<void> {
    while (hasRequests(workers.memory, this.clock.monotonicMs())) {
      await sleep(this.clock, DRAIN_STEP_MS)
    }
  }

  private freeProducer(): number {
    for (let producer = 1; producer < PRODUCER_ROWS; producer++) {
      if (!this.links.has(producer)) return producer
    }
    throw new WeirError('OVERLOADED', `${PRODUCER_ROWS - 1} threads are connected already`)
  }

  private unlink(producer: number, send: (message: ProducerMessage) => void): void {
    if (this.links.get(producer) !== send) return
    for (const { workers } of this.loaded.values()) forgetProducer(workers.memory, producer)
    this.links.delete(producer)
  }
}

const shareOf = ({ served, workers }: Loaded): SharedModel => ({
  served,
  buffer: workers.memory.buffer,
  maxItems: workers.maxItems,
})

import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { PredictionCache } from '../../inference/cache/prediction-cache.ts'
import { requestKey } from '../../inference/cache/request-key.ts'
import type { InferenceProducer } from '../../inference/port/engine.ts'
import type { InferAnswer, InferRequest } from '../../inference/port/request.ts'
import type { LoadedVersion, ServedModel } from './served-model.ts'

interface ModelCache {
  readonly capacity: number
  /** Revision of the settings. */
  readonly revision: number
  readonly cache: PredictionCache<InferAnswer>
}

/** Bytes of an answer beside its tensors. */
const ANSWER_BYTES = 200

/** Times of an answer that needed no run. */
const WITHOUT_RUN = { queueMs: 0, runMs: 0, batchItems: 0 } as const

/** Prediction caches of the models whose settings ask for one. */
export class ModelCaches {
  private readonly engine: InferenceProducer
  private readonly clock: Clock
  private readonly caches = new WeakMap<ServedModel, ModelCache>()

  constructor(engine: InferenceProducer, clock: Clock) {
    this.engine = engine
    this.clock = clock
  }

  /** Answers from the cache of the model, or by a run; rejects as the engine does. */
  async infer(
    model: ServedModel,
    { settings, revision }: LoadedVersion,
    request: InferRequest,
  ): Promise<InferAnswer> {
    const { cacheBytes, deployment } = settings
    if (cacheBytes === 0) return await this.engine.infer(request)
    const { cache } = this.cacheOf(model, cacheBytes, revision)
    using limit = new DeadlineSignal(
      this.clock,
      request.deadlineMs ?? deployment.sloMs,
      request.signal,
    )
    try {
      const { value, way } = await cache.answer({
        key: requestKey(request.model.version, request.inputs),
        signal: limit.signal,
        compute: (signal) => this.engine.infer({ ...request, signal }),
      })
      return way === 'run' ? value : { ...value, ...WITHOUT_RUN, flags: { isCached: true } }
    } catch (error) {
      const { default: outputs } = deployment
      if (!limit.isOver || outputs === undefined) throw error
      const { version } = request.model
      return { outputs, version, ...WITHOUT_RUN, flags: { isDefault: 'expired' } }
    }
  }

  /** Counters of a model's cache; none without a cache. */
  statisticsOf(model: ServedModel): Readonly<Record<string, number>> {
    return { ...this.caches.get(model)?.cache.statistics() }
  }

  private cacheOf(model: ServedModel, capacity: number, revision: number): ModelCache {
    const known = this.caches.get(model)
    if (known?.capacity === capacity && known.revision === revision) return known
    const cache = new PredictionCache<InferAnswer>({
      capacity,
      // Versions never change, and the key has the version. New settings begin a new cache.
      epoch: () => 0,
      bytesOf: ({ outputs }) =>
        outputs.reduce((sum, { name, data }) => sum + name.length + data.length, ANSWER_BYTES),
      isCacheable: ({ flags }) => flags.isDefault === undefined,
    })
    const made = { capacity, revision, cache }
    this.caches.set(model, made)
    return made
  }
}

/** Signal of a request that may wait for the run of another one: it also ends at the request's own deadline. */
class DeadlineSignal implements Disposable {
  /** Whether the deadline has passed. */
  isOver = false
  private readonly controller = new AbortController()
  private readonly end: () => void

  constructor(clock: Clock, deadlineMs: number, signal: AbortSignal | undefined) {
    // The engine decides at the deadline, and this a moment later: only a request that joined needs it.
    const cancel = clock.after(deadlineMs + 1, () => {
      this.isOver = true
      const message = `no answer within ${deadlineMs} ms; retry`
      this.controller.abort(new WeirError('DEADLINE_EXCEEDED', message))
    })
    const onAbort = (): void => this.controller.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.end = () => {
      cancel()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  [Symbol.dispose](): void {
    this.end()
  }
}

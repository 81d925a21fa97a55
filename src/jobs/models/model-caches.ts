import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { PredictionCache } from '../../inference/cache/prediction-cache.ts'
import { requestKey } from '../../inference/cache/request-key.ts'
import type { InferenceProducer } from '../../inference/port/engine.ts'
import type { ModelId } from '../../inference/port/model.ts'
import type { Asker, InferAnswer, InferRequest } from '../../inference/port/request.ts'
import type { Tensor } from '../../inference/port/tensor.ts'
import type { ModelSettings } from '../../inference/repository/settings.ts'
import { copyTensors } from '../../wire/inference/tensor.ts'
import type { LoadedVersion, ServedModel } from './served-model.ts'

/** A stored answer; with its inputs where a new version is to answer them, too. */
interface Stored {
  readonly answer: InferAnswer
  readonly inputs: readonly Tensor[]
}

interface ModelCache {
  readonly capacity: number
  /** Revision of the settings. */
  readonly revision: number
  readonly cache: PredictionCache<Stored>
}

/** Bytes of an answer beside its tensors. */
const ANSWER_BYTES = 200

/** Requests of a warm-up that are under way at once: those of the live version go on beside them. */
const WARM_AT_ONCE = 4
/** Deadline of one request of a warm-up, and time after which no other one begins, ms. */
const WARM_MS = 10_000

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

  /**
   * Answers from the cache of the model, or by a run; rejects as the engine does. The bytes of the inputs are read before it
   * returns.
   */
  infer(model: ServedModel, loaded: LoadedVersion, request: InferRequest): Promise<InferAnswer> {
    if (loaded.settings.cacheBytes === 0) return this.engine.infer(request)
    // The inputs are views of what came over the network. A run may come later, and a warm-up much later.
    const inputs = copyTensors(request.inputs)
    return this.cached(model, loaded, { ...request, inputs })
  }

  private async cached(
    model: ServedModel,
    { settings, revision }: LoadedVersion,
    request: InferRequest,
  ): Promise<InferAnswer> {
    const { cacheBytes, cacheWarmUp, deployment } = settings
    const { cache } = this.cacheOf(model, cacheBytes, revision)
    using limit = new DeadlineSignal(
      this.clock,
      request.deadlineMs ?? deployment.sloMs,
      request.asker,
    )
    try {
      const { value, way } = await cache.answer({
        key: requestKey(request.model.version, request.inputs),
        signal: limit.signal,
        compute: async (signal) => ({
          inputs: cacheWarmUp > 0 ? request.inputs : [],
          answer: await this.engine.infer({ ...request, asker: undefined, signal }),
        }),
      })
      const { answer } = value
      return way === 'run' ? answer : { ...answer, ...WITHOUT_RUN, flags: { isCached: true } }
    } catch (error) {
      const { default: outputs } = deployment
      if (!limit.isOver || outputs === undefined) throw error
      const { version } = request.model
      return { outputs, version, ...WITHOUT_RUN, flags: { isDefault: 'expired' } }
    }
  }

  /**
   * Lets a version that is loaded and not live yet answer what is asked most (Velox, 2.6), so that the switch meets
   * a warm cache. Resolves when it has answered, or after ten seconds; a request that fails is left out. The
   * answers of the live version stay until all are there.
   */
  async warm(
    model: ServedModel,
    { id, settings, revision }: { id: ModelId; settings: ModelSettings; revision: number },
  ): Promise<void> {
    const known = this.caches.get(model)
    if (settings.cacheWarmUp === 0 || known?.revision !== revision) return
    const { cache } = known
    const { epoch } = cache
    const hottest = cache.hottest(settings.cacheWarmUp).filter(({ inputs }) => inputs.length > 0)
    for (const stored of await this.answersOf(id, hottest)) {
      cache.fill(requestKey(id.version, stored.inputs), epoch, stored)
    }
  }

  /** What a version answers to the inputs of stored answers, a few at once. */
  private async answersOf(model: ModelId, stored: readonly Stored[]): Promise<Stored[]> {
    const answers: Stored[] = []
    const endsAt = this.clock.monotonicMs() + WARM_MS
    const left = stored[Symbol.iterator]()
    const answerNext = async (): Promise<void> => {
      for (const { inputs } of left) {
        if (this.clock.monotonicMs() > endsAt) return
        const asked = this.engine.infer({ model, inputs, deadlineMs: WARM_MS })
        await asked.then((answer) => answers.push({ inputs, answer })).catch(() => {})
      }
    }
    await Promise.all(Array.from({ length: WARM_AT_ONCE }, answerNext))
    return answers
  }

  /** Counters of a model's cache; none without a cache. */
  statisticsOf(model: ServedModel): Readonly<Record<string, number>> {
    return { ...this.caches.get(model)?.cache.statistics() }
  }

  private cacheOf(model: ServedModel, capacity: number, revision: number): ModelCache {
    const known = this.caches.get(model)
    if (known?.capacity === capacity && known.revision === revision) return known
    const cache = new PredictionCache<Stored>({
      capacity,
      // Versions never change, and the key has the version. New settings begin a new cache.
      epoch: () => 0,
      bytesOf: ({ answer, inputs }) =>
        [...answer.outputs, ...inputs].reduce(
          (sum, { name, data }) => sum + name.length + data.length,
          ANSWER_BYTES,
        ),
      isCacheable: ({ answer }) => answer.flags.isDefault === undefined,
    })
    const made = { capacity, revision, cache }
    this.caches.set(model, made)
    return made
  }
}

/** Signal of a request that may wait for the run of another one: aborted at its own deadline, or when who asks is gone. */
class DeadlineSignal implements Disposable {
  /** Whether the deadline has passed. */
  isOver = false
  private readonly controller = new AbortController()
  private readonly end: () => void

  constructor(clock: Clock, deadlineMs: number, asker: Asker | undefined) {
    // The engine decides at the deadline, and this a moment later: only a request that joined needs it.
    const cancel = clock.after(deadlineMs + 1, () => {
      this.isOver = true
      const message = `no answer within ${deadlineMs} ms; retry`
      this.controller.abort(new WeirError('DEADLINE_EXCEEDED', message))
    })
    const stopListening = asker?.onGone(() => this.controller.abort(asker.gone))
    this.end = () => {
      cancel()
      stopListening?.()
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  [Symbol.dispose](): void {
    this.end()
  }
}

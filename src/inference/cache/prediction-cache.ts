import { ClockCache } from './clock-cache.ts'

/** A run that answers one or more equal requests. */
interface Flight<Value> {
  readonly epoch: number
  readonly answer: Promise<Value>
  readonly controller: AbortController
  /** Requests that wait for it. */
  waiting: number
}

/** A request to the cache. */
export interface CachedRequest<Value> {
  /** Equal for equal requests. */
  readonly key: string
  /** Gives up the request: the run goes on while another request waits for it. */
  readonly signal: AbortSignal
  /** Computes the answer of a miss. */
  readonly compute: (signal: AbortSignal) => Promise<Value>
}

/** Answer with its way. */
export interface CacheAnswer<Value> {
  readonly value: Value
  /** `run`: computed for this request. `joined`: the run of an equal request. `hit`: stored before. */
  readonly way: 'hit' | 'joined' | 'run'
}

/** Counters of a cache. */
export interface CacheStatistics {
  readonly cacheHits: number
  readonly cacheMisses: number
  /** Requests that waited for the run of an equal one. */
  readonly cacheJoined: number
  readonly cacheEvictions: number
  readonly cacheBytes: number
  readonly cacheEntries: number
}

/** Options of a prediction cache. */
export interface PredictionCacheOptions<Value> {
  /** Most bytes of keys and answers. */
  readonly capacity: number
  /** Number that changes with the weights: an answer of another epoch is never given. */
  readonly epoch: () => number
  /** Bytes of an answer. */
  readonly bytesOf: (value: Value) => number
  /** Whether equal requests may get it later; a default that answers for an error may not. */
  readonly isCacheable: (value: Value) => boolean
}

/**
 * Answers of a model by request (Clipper's prediction cache). Equal requests at the same time share one run.
 * An answer counts only for the epoch in which its run began: if the weights change during the run, later
 * requests begin another one, so a change of the weights is never followed by an older answer.
 */
export class PredictionCache<Value> {
  private readonly options: PredictionCacheOptions<Value>
  private readonly answers: ClockCache<Value>
  private readonly flights = new Map<string, Flight<Value>>()
  private hits = 0
  private misses = 0
  private joined = 0

  constructor(options: PredictionCacheOptions<Value>) {
    this.options = options
    this.answers = new ClockCache(options.capacity)
  }

  /** Answers from the cache, from the run of an equal request, or by a run. Rejects with the run's error. */
  async answer(request: CachedRequest<Value>): Promise<CacheAnswer<Value>> {
    const { key, signal } = request
    const epoch = this.options.epoch()
    const stored = this.answers.get(key, epoch)
    if (stored !== undefined) {
      this.hits++
      return { value: stored, way: 'hit' }
    }
    const running = this.flights.get(key)
    if (running?.epoch !== epoch) {
      this.misses++
      return { value: await this.wait(this.start(request, epoch), signal), way: 'run' }
    }
    this.joined++
    try {
      return { value: await this.wait(running, signal), way: 'joined' }
    } catch (error) {
      // The other request may have had less time, or has been given up.
      if (signal.aborted) throw error
      return { value: await request.compute(signal), way: 'run' }
    }
  }

  /** Stored values, those that were asked for again lately first; at most `count`. */
  hottest(count: number): Value[] {
    return this.answers.hottest(count)
  }

  /** Number of the weights; an answer that is computed apart belongs to the one before its run. */
  get epoch(): number {
    return this.options.epoch()
  }

  /** Stores an answer that no request waited for, as one that was asked for lately. */
  fill(key: string, epoch: number, value: Value): void {
    this.store(key, epoch, value)
    this.answers.get(key, epoch)
  }

  private start({ key, compute }: CachedRequest<Value>, epoch: number): Flight<Value> {
    const controller = new AbortController()
    const answer = compute(controller.signal)
    const flight: Flight<Value> = { epoch, answer, controller, waiting: 0 }
    this.flights.set(key, flight)
    const end = (): void => {
      if (this.flights.get(key) === flight) this.flights.delete(key)
    }
    answer.then((value) => {
      end()
      this.store(key, epoch, value)
    }, end)
    return flight
  }

  private store(key: string, epoch: number, value: Value): void {
    const { isCacheable, bytesOf } = this.options
    if (epoch !== this.options.epoch() || !isCacheable(value)) return
    this.answers.put(key, epoch, value, bytesOf(value))
  }

  /** The answer of a flight; the last request that gives up ends the run. */
  private async wait(flight: Flight<Value>, signal: AbortSignal): Promise<Value> {
    const gone = Promise.withResolvers<never>()
    const onAbort = (): void => gone.reject(signal.reason)
    flight.waiting++
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    try {
      return await Promise.race([flight.answer, gone.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
      flight.waiting--
      if (flight.waiting === 0 && signal.aborted) flight.controller.abort(signal.reason)
    }
  }

  statistics(): CacheStatistics {
    return {
      cacheHits: this.hits,
      cacheMisses: this.misses,
      cacheJoined: this.joined,
      cacheEvictions: this.answers.evictions,
      cacheBytes: this.answers.bytes,
      cacheEntries: this.answers.size,
    }
  }
}

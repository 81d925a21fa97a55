/** Number of requests and their time in all. */
interface Duration {
  count: number
  ns: number
}

/** Statistics of one model version, with the fields of Triton's statistics extension. */
export interface ModelStatistics {
  readonly name: string
  readonly version: string
  /** Unix ms of the last request; 0 before the first. */
  readonly last_inference: number
  readonly inference_count: number
  readonly execution_count: number
  readonly inference_stats: Readonly<Record<(typeof DURATIONS)[number], Readonly<Duration>>>
  readonly batch_stats: readonly never[]
}

const DURATIONS = [
  'success',
  'fail',
  'queue',
  'compute_input',
  'compute_infer',
  'compute_output',
  'cache_hit',
  'cache_miss',
] as const

interface Counts {
  last: number
  items: number
  requests: number
  readonly success: Duration
  readonly fail: Duration
  readonly queue: Duration
  readonly compute: Duration
  readonly cacheHit: Duration
}

/** A request that succeeded. Times are nanoseconds. */
export interface CountedRequest {
  readonly items: number
  readonly ns: number
  /** Wait for a worker; 0 for a model without one. */
  readonly queueNs?: number
  /** Run of the model. @default the whole time */
  readonly computeNs?: number
  readonly isCached?: boolean
}

/** Counts the inference requests of this gateway, by model and version. */
export class InferenceStatistics {
  private readonly counts = new Map<string, Map<string, Counts>>()

  /** Counts a request that succeeded. */
  succeeded(model: string, version: string, request: CountedRequest, nowMs: number): void {
    const { items, ns, queueNs, computeNs = ns, isCached = false } = request
    const counts = this.of(model, version)
    counts.last = nowMs
    counts.items += items
    count(counts.success, ns)
    if (isCached) {
      count(counts.cacheHit, ns)
      return
    }
    counts.requests += 1
    count(counts.compute, computeNs)
    if (queueNs !== undefined) count(counts.queue, queueNs)
  }

  /** Counts a request that failed; `version` is the one that it asked for. */
  failed(model: string, version: string, ns: number): void {
    count(this.of(model, version).fail, ns)
  }

  /** The statistics of one version. */
  read(name: string, version: string): ModelStatistics {
    return statisticsOf(name, version, this.counts.get(name)?.get(version) ?? noCounts())
  }

  /** The statistics of every version that had a request. */
  all(): ModelStatistics[] {
    return [...this.counts].flatMap(([model, versions]) =>
      [...versions.keys()].map((version) => this.read(model, version)),
    )
  }

  private of(model: string, version: string): Counts {
    const known = this.counts.get(model)?.get(version)
    if (known !== undefined) return known
    const counts = noCounts()
    const versions = this.counts.get(model) ?? new Map<string, Counts>()
    this.counts.set(model, versions.set(version, counts))
    return counts
  }
}

function count(duration: Duration, ns: number): void {
  duration.count += 1
  duration.ns += ns
}

function statisticsOf(name: string, version: string, counts: Counts): ModelStatistics {
  const { success, fail, queue, compute, cacheHit } = counts
  const none = { count: 0, ns: 0 }
  return {
    name,
    version,
    last_inference: counts.last,
    inference_count: counts.items,
    execution_count: counts.requests,
    inference_stats: {
      success,
      fail,
      queue,
      // Reading and writing of tensors is not timed.
      compute_input: none,
      compute_infer: compute,
      compute_output: none,
      cache_hit: cacheHit,
      cache_miss: none,
    },
    batch_stats: [],
  }
}

/** The statistics of several threads, those of the same model and version added up. */
export function addModelStatistics(all: readonly ModelStatistics[]): ModelStatistics[] {
  const sums = new Map<string, ModelStatistics>()
  for (const one of all) {
    const key = `${one.version} ${one.name}`
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? one : addOne(sum, one))
  }
  return [...sums.values()]
}

function addOne(a: ModelStatistics, b: ModelStatistics): ModelStatistics {
  const add = (x: Readonly<Duration>, y: Readonly<Duration>): Duration => ({
    count: x.count + y.count,
    ns: x.ns + y.ns,
  })
  return statisticsOf(a.name, a.version, {
    last: Math.max(a.last_inference, b.last_inference),
    items: a.inference_count + b.inference_count,
    requests: a.execution_count + b.execution_count,
    success: add(a.inference_stats.success, b.inference_stats.success),
    fail: add(a.inference_stats.fail, b.inference_stats.fail),
    queue: add(a.inference_stats.queue, b.inference_stats.queue),
    compute: add(a.inference_stats.compute_infer, b.inference_stats.compute_infer),
    cacheHit: add(a.inference_stats.cache_hit, b.inference_stats.cache_hit),
  })
}

function noCounts(): Counts {
  return {
    last: 0,
    items: 0,
    requests: 0,
    success: { count: 0, ns: 0 },
    fail: { count: 0, ns: 0 },
    queue: { count: 0, ns: 0 },
    compute: { count: 0, ns: 0 },
    cacheHit: { count: 0, ns: 0 },
  }
}

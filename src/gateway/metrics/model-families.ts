import type { Labels, MetricFamily } from '../../core/prometheus/text-format.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'

/** A family of one number of a model's statistics for each value of a label. */
interface ModelFamily {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** Name of the label by which the numbers differ; undefined for a single number. */
  readonly label?: string
  /** Statistics by value of the label; a single one has the value ''. */
  readonly of: Readonly<Record<string, string>>
  /** Factor from the statistic to the metric. @default 1 */
  readonly scale?: number
}

/** A family of one histogram of a model's statistics, whose buckets are `OF.bucket.BOUND`. */
interface ModelHistogram {
  readonly name: string
  readonly help: string
  /** Statistic with the sum of the observations. */
  readonly sum: string
  /** Name of the histogram among the statistics. */
  readonly of: string
  /** Divides bounds and sum. @default 1 */
  readonly divisor?: number
}

const HISTOGRAMS: readonly ModelHistogram[] = [
  {
    name: 'weir_model_queue_duration_seconds',
    help: 'Time that a request of a served model waited for its run.',
    of: 'queueMs',
    sum: 'queueMs',
    divisor: 1000,
  },
  {
    name: 'weir_model_run_duration_seconds',
    help: 'Time of one run of a served model, of one batch.',
    of: 'runMs',
    sum: 'runMs',
    divisor: 1000,
  },
  {
    name: 'weir_model_batch_items',
    help: 'Items of one batch of a served model.',
    of: 'batchItems',
    sum: 'items',
  },
]

/** Numbers of the process, which each of its models reports. */
const PROCESS_FAMILIES: readonly ModelFamily[] = [
  {
    name: 'weir_model_device_bytes',
    type: 'gauge',
    help: 'Memory that all models hold, and its limit, where the process has one.',
    label: 'state',
    of: { held: 'deviceBytes', limit: 'deviceLimitBytes' },
  },
]

const FAMILIES: readonly ModelFamily[] = [
  {
    name: 'weir_model_requests_total',
    type: 'counter',
    help: 'Requests of a served model by their end; doomed and full were refused before a run.',
    label: 'end',
    of: {
      answered: 'answered',
      failed: 'failed',
      doomed: 'shedDoomed',
      full: 'shedFull',
      expired: 'expired',
      cancelled: 'cancelled',
    },
  },
  {
    name: 'weir_model_batches_total',
    type: 'counter',
    help: 'Batches of a served model by why they were released.',
    label: 'reason',
    of: {
      full: 'dispatched.full',
      slack: 'dispatched.slack',
      delay: 'dispatched.delay',
      idle: 'dispatched.idle',
      flush: 'dispatched.flush',
    },
  },
  {
    name: 'weir_model_items_total',
    type: 'counter',
    help: 'Items of all batches of a served model.',
    of: { '': 'items' },
  },
  {
    name: 'weir_model_run_seconds_total',
    type: 'counter',
    help: 'Time of the runs of a served model.',
    of: { '': 'runMs' },
    scale: 0.001,
  },
  {
    name: 'weir_model_queue_seconds_total',
    type: 'counter',
    help: 'Time that requests of a served model waited for their run.',
    of: { '': 'queueMs' },
    scale: 0.001,
  },
  {
    name: 'weir_model_response_p99_seconds',
    type: 'gauge',
    help: 'Time from a request of a served model to its answer that 99 of 100 answers stay below.',
    of: { '': 'p99Ms' },
    scale: 0.001,
  },
  {
    name: 'weir_model_requests_waiting',
    type: 'gauge',
    help: 'Requests that wait in the queue of a served model.',
    of: { '': 'waiting' },
  },
  {
    name: 'weir_model_workers',
    type: 'gauge',
    help: 'Workers of a served model that its settings ask for, that have it loaded, and that run now.',
    label: 'state',
    of: { wanted: 'workersWanted', loaded: 'workers', busy: 'workersBusy' },
  },
  {
    name: 'weir_model_workers_lost_total',
    type: 'counter',
    help: 'Workers of a served model that died or were written off.',
    of: { '': 'workersLost' },
  },
  {
    name: 'weir_model_hedged_total',
    type: 'counter',
    help: 'Requests that were put up for a second worker.',
    of: { '': 'hedged' },
  },
  {
    name: 'weir_model_hedge_wins_total',
    type: 'counter',
    help: 'Requests of a served model that the second worker answered first.',
    of: { '': 'hedgeWins' },
  },
  {
    name: 'weir_model_executions_per_request',
    type: 'gauge',
    help: 'Times that a request is given to a served model, mean.',
    of: { '': 'executionsPerRequest' },
  },
  {
    name: 'weir_model_requests_in_time_total',
    type: 'counter',
    help: 'Requests of a served model that were answered within its latency goal.',
    of: { '': 'inTime' },
  },
  {
    name: 'weir_model_slo_attainment_ratio',
    type: 'gauge',
    help: 'Share of the requests of a served model that were answered within its latency goal.',
    of: { '': 'sloAttainment' },
  },
  {
    name: 'weir_model_memory_bytes',
    type: 'gauge',
    help: 'Memory of a served model in all its workers, where the process has a limit of memory.',
    of: { '': 'memoryBytes' },
  },
  {
    name: 'weir_model_resident',
    type: 'gauge',
    help: '1 while a served model is in memory, 0 while it was evicted.',
    of: { '': 'resident' },
  },
  {
    name: 'weir_model_evictions_total',
    type: 'counter',
    help: 'Evictions of a served model from memory.',
    of: { '': 'evictions' },
  },
  {
    name: 'weir_model_loads_total',
    type: 'counter',
    help: 'Loads of a served model after an eviction.',
    of: { '': 'loads' },
  },
  {
    name: 'weir_model_load_seconds_total',
    type: 'counter',
    help: 'Time of the loads of a served model after an eviction.',
    of: { '': 'loadMs' },
    scale: 0.001,
  },
  {
    name: 'weir_model_cache_requests_total',
    type: 'counter',
    help: 'Requests of a model with a cache: answered from it, by the run of an equal one, or by a run.',
    label: 'way',
    of: { hit: 'cacheHits', joined: 'cacheJoined', run: 'cacheMisses' },
  },
  {
    name: 'weir_model_cache_bytes',
    type: 'gauge',
    help: 'Bytes of the prediction cache of a model.',
    of: { '': 'cacheBytes' },
  },
]

/** Metrics of the live versions of served models, since they were loaded. */
export function modelFamilies(models: readonly ModelInfo[]): MetricFamily[] {
  const families: MetricFamily[] = [
    ...FAMILIES.map((family) => familyOf(family, models, labelsOf)),
    ...HISTOGRAMS.map((histogram) => histogramFamilyOf(histogram, models)),
    ...PROCESS_FAMILIES.map((family) =>
      familyOf(family, models.filter((model) => has(model, family)).slice(0, 1), () => ({})),
    ),
  ]
  return families.filter(({ samples }) => samples.length > 0)
}

const labelsOf = ({ name, liveVersion }: ModelInfo): Labels => ({
  model: name,
  version: String(liveVersion),
})

const has = ({ statistics }: ModelInfo, { of }: ModelFamily): boolean =>
  Object.values(of).some((statistic) => statistics[statistic] !== undefined)

function familyOf(
  { name, type, help, label, of, scale = 1 }: ModelFamily,
  models: readonly ModelInfo[],
  labelsFor: (model: ModelInfo) => Labels,
): MetricFamily {
  const samples = models.flatMap((model) =>
    Object.entries(of).flatMap(([value, statistic]) => {
      const number = model.statistics[statistic]
      if (number === undefined) return []
      const labels = labelsFor(model)
      const labelled = label === undefined ? labels : { ...labels, [label]: value }
      return [{ labels: labelled, value: number * scale }]
    }),
  )
  return { name, type, help, samples }
}

function histogramFamilyOf(
  { name, help, of, sum, divisor = 1 }: ModelHistogram,
  models: readonly ModelInfo[],
): MetricFamily {
  const samples = models.flatMap((model) => {
    const buckets = bucketsOf(model.statistics, `${of}.bucket.`)
    if (buckets.length === 0) return []
    const bounds = buckets.slice(0, -1).map(({ upTo }) => upTo / divisor)
    const counts = buckets.map(({ count }) => count)
    const histogram = { bounds, counts, sum: (model.statistics[sum] ?? 0) / divisor }
    return [{ labels: labelsOf(model), histogram }]
  })
  return { name, help, type: 'histogram', samples }
}

/** Buckets by their upper bounds, ascending; the bound of the last one is Infinity. */
function bucketsOf(statistics: ModelInfo['statistics'], prefix: string) {
  return Object.entries(statistics)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, count]) => ({ upTo: Number(name.slice(prefix.length)), count }))
    .sort((a, b) => a.upTo - b.upTo)
}

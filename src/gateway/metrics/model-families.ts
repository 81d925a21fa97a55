import type { MetricFamily } from '../../prometheus/text-format.ts'
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
    help: 'Workers of a served model that have it loaded, and those of them that run now.',
    label: 'state',
    of: { loaded: 'workers', busy: 'workersBusy' },
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
  return FAMILIES.map(({ name, type, help, label, of, scale = 1 }) => ({
    name,
    type,
    help,
    samples: models.flatMap((model) =>
      Object.entries(of).flatMap(([value, statistic]) => {
        const number = model.statistics[statistic]
        if (number === undefined) return []
        const labels = { model: model.name, version: String(model.liveVersion) }
        return [
          {
            labels: label === undefined ? labels : { ...labels, [label]: value },
            value: number * scale,
          },
        ]
      }),
    ),
  })).filter(({ samples }) => samples.length > 0)
}

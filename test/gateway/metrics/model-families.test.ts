import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { prometheusText } from '../../../src/core/prometheus/text-format.ts'
import { modelFamilies } from '../../../src/gateway/metrics/model-families.ts'
import { boundsOf, ITEM_BUCKETS, TIME_BUCKETS } from '../../../src/inference/queue/buckets.ts'
import { numbersOf } from '../../../src/jobs/models/numbers.ts'
import type { ModelInfo } from '../../../src/wire/inference/models.ts'
import { needs } from '../../run/needs.ts'
import { checkMetrics, hasPromtool } from '../../services/promtool.ts'

const zeros = (buckets: typeof TIME_BUCKETS) =>
  boundsOf(buckets).map((upTo) => ({ upTo, count: 0 }))

/** Statistics of a model with three requests in two batches, in a process with a limit of memory. */
const STATISTICS = {
  id: { name: 'digits', version: 2 },
  answered: 3,
  failed: 0,
  shedDoomed: 0,
  shedFull: 1,
  expired: 0,
  cancelled: 0,
  batches: 2,
  items: 3,
  runMs: 5,
  queueMs: 0.75,
  p99Ms: 4,
  histograms: {
    queueMs: zeros(TIME_BUCKETS).with(4, { upTo: 0.5, count: 3 }),
    runMs: zeros(TIME_BUCKETS)
      .with(5, { upTo: 1, count: 1 })
      .with(20, { upTo: Number.POSITIVE_INFINITY, count: 1 }),
    batchItems: zeros(ITEM_BUCKETS).with(0, { upTo: 1, count: 1 }).with(1, { upTo: 2, count: 1 }),
  },
  inTime: 3,
  sloAttainment: 0.75,
  executionsPerRequest: 1,
  dispatched: { full: 0, slack: 0, delay: 0, idle: 2, flush: 0 },
  waiting: 0,
  workers: 1,
  workersBusy: 0,
  workersWanted: 2,
  workersLost: 0,
  hedged: 2,
  hedgeWins: 1,
  memoryBytes: 1024,
  deviceBytes: 3072,
  deviceLimitBytes: 4096,
  resident: 1,
  loads: 0,
  loadMs: 0,
  evictions: 0,
}

const infoOf = (name: string, statistics: Record<string, number>): ModelInfo => ({
  name,
  kind: 'onnx',
  liveVersion: 2,
  versions: [],
  aliases: {},
  inputs: [],
  outputs: [],
  revision: 1,
  maxBatchItems: 0,
  batching: '',
  sloMs: 0,
  problems: [],
  isExpected: true,
  statistics,
})

const numbers = numbersOf(STATISTICS)
const cache = { cacheHits: 1, cacheJoined: 0, cacheMisses: 3, cacheBytes: 64 }
const families = modelFamilies([
  infoOf('digits', { ...numbers, ...cache }),
  infoOf('words', numbers),
])
const lines = prometheusText(families).split('\n')
const labels = 'model="digits",version="2"'

describe('the metrics of served models', () => {
  it('have histograms of waits and runs in seconds, and of items, with the sums beside them', () => {
    for (const line of [
      `weir_model_queue_duration_seconds_bucket{${labels},le="0.00025"} 0`,
      `weir_model_queue_duration_seconds_bucket{${labels},le="0.0005"} 3`,
      `weir_model_queue_duration_seconds_bucket{${labels},le="+Inf"} 3`,
      `weir_model_queue_duration_seconds_sum{${labels}} 0.00075`,
      `weir_model_queue_duration_seconds_count{${labels}} 3`,
      `weir_model_run_duration_seconds_bucket{${labels},le="16.384"} 1`,
      `weir_model_run_duration_seconds_bucket{${labels},le="+Inf"} 2`,
      `weir_model_batch_items_bucket{${labels},le="1"} 1`,
      `weir_model_batch_items_bucket{${labels},le="2"} 2`,
      `weir_model_batch_items_sum{${labels}} 3`,
    ]) {
      expect(lines).toContain(line)
    }
  })

  it('have the memory of the process once, whatever the number of models', () => {
    expect(lines.filter((line) => line.startsWith('weir_model_device_bytes'))).toEqual([
      'weir_model_device_bytes{state="held"} 3072',
      'weir_model_device_bytes{state="limit"} 4096',
    ])
  })

  it('say how many workers are wanted, what hedges won, and how many requests met the goal', () => {
    for (const line of [
      `weir_model_workers{${labels},state="wanted"} 2`,
      `weir_model_workers{${labels},state="loaded"} 1`,
      `weir_model_hedge_wins_total{${labels}} 1`,
      `weir_model_requests_in_time_total{${labels}} 3`,
      `weir_model_slo_attainment_ratio{${labels}} 0.75`,
      `weir_model_executions_per_request{${labels}} 1`,
    ]) {
      expect(lines).toContain(line)
    }
  })

  it('leave out what a model does not report: it is of an older process, or has no request yet', () => {
    const { inTime, queueMs } = numbers
    const few = modelFamilies([infoOf('old', { inTime: inTime!, queueMs: queueMs! })])
    expect(few.map(({ name }) => name)).toEqual([
      'weir_model_queue_seconds_total',
      'weir_model_requests_in_time_total',
    ])
  })

  it('have no histogram of a model that was not asked', () => {
    const histograms = {
      queueMs: zeros(TIME_BUCKETS),
      runMs: zeros(TIME_BUCKETS),
      batchItems: zeros(ITEM_BUCKETS),
    }
    const idle = modelFamilies([infoOf('idle', numbersOf({ ...STATISTICS, histograms }))])
    expect(idle.filter(({ type }) => type === 'histogram')).toEqual([])
    expect(
      Object.keys(numbers).filter((name) => name.startsWith('batchItems.bucket')),
    ).toHaveLength(ITEM_BUCKETS.count)
  })

  it('are in order for promtool', needs(hasPromtool, 'no promtool here'), async () => {
    expect(await checkMetrics(prometheusText(families))).toBe('')
  })

  it('are those of the reference page, with the same types', () => {
    const page = new URL('../../../docs/reference/metrics.md', import.meta.url)
    const rows = readFileSync(page, 'utf8').matchAll(/^\| `(weir_model_\w+)` \| (\w+) \|/gm)
    const reported = families.map(({ name, type }) => `${name} ${type}`)
    expect([...rows].map(([, name, type]) => `${name} ${type}`).sort()).toEqual(reported.sort())
  })
})

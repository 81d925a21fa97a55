import { refusedFamily } from '../../core/prometheus/refused-family.ts'
import type { MetricFamily } from '../../core/prometheus/text-format.ts'
import { MODEL_KIND, type RoutingTable } from '../../wire/routing-table.ts'
import type { ModelStatistics } from '../inference/statistics.ts'
import type { RequestSeries } from './request-metrics.ts'

/** What a scrape of a gateway reports on: the sums of all its threads. */
export interface ScrapedGateway {
  /** Version of Weir. */
  readonly version: string
  readonly threads: number
  /** Start of the first thread, ms since 1970. */
  readonly startedMs: number
  readonly requests: readonly RequestSeries[]
  readonly inference: readonly ModelStatistics[]
  readonly routing: RoutingTable
  /** Whether the job answers. */
  readonly isJobReachable: boolean
}

/** Everything that `GET /metrics` of a gateway reports. */
export function gatewayFamilies(scraped: ScrapedGateway): MetricFamily[] {
  return [
    {
      name: 'weir_build_info',
      type: 'gauge',
      help: 'Version of Weir; always 1.',
      samples: [{ labels: { version: scraped.version }, value: 1 }],
    },
    {
      name: 'process_resident_memory_bytes',
      type: 'gauge',
      help: 'Resident memory of the process that answers.',
      samples: [{ labels: {}, value: process.memoryUsage.rss() }],
    },
    {
      name: 'process_start_time_seconds',
      type: 'gauge',
      help: 'Unix time of the start of the process that answers.',
      samples: [{ labels: {}, value: scraped.startedMs / 1000 }],
    },
    {
      name: 'weir_gateway_threads',
      type: 'gauge',
      help: 'Threads that listen on the port.',
      samples: [{ labels: {}, value: scraped.threads }],
    },
    {
      name: 'weir_gateway_request_duration_seconds',
      type: 'histogram',
      help: 'Time from the head of a request to the end of its answer.',
      samples: scraped.requests.map(({ method, route, status, seconds }) => ({
        labels: { method, route, status: String(status) },
        histogram: seconds,
      })),
    },
    refusedFamily({
      UNAUTHENTICATED: answeredWith(scraped.requests, 401),
      ACCESS_DENIED: answeredWith(scraped.requests, 403),
    }),
    {
      name: 'weir_gateway_job_reachable',
      type: 'gauge',
      help: 'Whether the job answers the gateway: 1 or 0.',
      samples: [
        { labels: { job_name: scraped.routing.job }, value: scraped.isJobReachable ? 1 : 0 },
      ],
    },
    liveVersionFamily(scraped.routing),
    ...inferenceFamilies(scraped.inference),
  ]
}

/** Number of requests that were answered with a status. */
function answeredWith(requests: readonly RequestSeries[], wanted: number): number {
  const chosen = requests.filter(({ status }) => status === wanted)
  return chosen.reduce((sum, { seconds }) => sum + sumOf(seconds.counts), 0)
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

function liveVersionFamily({ job, states }: RoutingTable): MetricFamily {
  // Before the first version a job has no state: without this sample, a model that never goes live has no series.
  const none = states.length === 0 ? [{ labels: { job_name: job, model: '' }, value: 0 }] : []
  const models = states.filter(({ kind }) => kind === 'vector' || kind === MODEL_KIND)
  return {
    name: 'weir_gateway_live_version',
    type: 'gauge',
    help: 'Version of a model that requests without a version read; 0 while none is live.',
    samples: [
      ...none,
      ...models.map(({ name, liveVersion }) => ({
        labels: { job_name: job, model: name },
        value: liveVersion,
      })),
    ],
  }
}

/** Numbers of a model version that both names, Weir's and Triton's, report. */
const INFERENCE = [
  {
    name: 'weir_inference_requests_succeeded_total',
    triton: 'nv_inference_request_success',
    help: 'Inference requests that succeeded.',
    of: ({ inference_stats }: ModelStatistics) => inference_stats.success.count,
  },
  {
    name: 'weir_inference_requests_failed_total',
    triton: 'nv_inference_request_failure',
    help: 'Inference requests that failed.',
    of: ({ inference_stats }: ModelStatistics) => inference_stats.fail.count,
  },
  {
    name: 'weir_inference_items_total',
    triton: 'nv_inference_count',
    help: 'Inferences: a request with a batch of n is n inferences.',
    of: ({ inference_count }: ModelStatistics) => inference_count,
  },
  {
    name: 'weir_inference_executions_total',
    triton: 'nv_inference_exec_count',
    help: 'Executions of a model; one for each request.',
    of: ({ execution_count }: ModelStatistics) => execution_count,
  },
] as const

function inferenceFamilies(inference: readonly ModelStatistics[]): MetricFamily[] {
  return [
    ...INFERENCE.map(({ name, help, of }) => counterOf(name, help, { inference, of })),
    counterOf('weir_inference_request_seconds_total', 'Time of inference requests in all.', {
      inference,
      of: (statistics) => nsOf(statistics) / 1e9,
    }),
  ]
}

/**
 * The inference metrics under Triton's names. They are apart from Weir's, because `promtool` refuses
 * names like these (a counter without `_total`, microseconds).
 */
export function tritonFamilies(inference: readonly ModelStatistics[]): MetricFamily[] {
  return [
    ...INFERENCE.map(({ triton, help, of }) => counterOf(triton, help, { inference, of })),
    counterOf('nv_inference_request_duration_us', 'Time of inference requests in all, in µs.', {
      inference,
      of: (statistics) => Math.round(nsOf(statistics) / 1e3),
    }),
  ]
}

function nsOf({ inference_stats: { success, fail } }: ModelStatistics): number {
  return success.ns + fail.ns
}

function counterOf(
  name: string,
  help: string,
  {
    inference,
    of,
  }: {
    readonly inference: readonly ModelStatistics[]
    readonly of: (statistics: ModelStatistics) => number
  },
): MetricFamily {
  const samples = inference.map((statistics) => ({
    labels: { model: statistics.name, version: statistics.version },
    value: of(statistics),
  }))
  return { name, type: 'counter', help, samples }
}

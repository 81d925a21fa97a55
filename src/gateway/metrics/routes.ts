import type { FastifyInstance, FastifyReply } from 'fastify'
import { orAfter, systemClock } from '../../core/clock.ts'
import {
  type MetricFamily,
  PROMETHEUS_CONTENT_TYPE,
  prometheusText,
} from '../../core/prometheus/text-format.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'
import { MODEL_KIND } from '../../wire/routing-table.ts'
import {
  addModelStatistics,
  type InferenceStatistics,
  type ModelStatistics,
} from '../inference/statistics.ts'
import type { ServedState } from '../port/services.ts'
import { gatewayFamilies, tritonFamilies } from './families.ts'
import { modelFamilies } from './model-families.ts'
import { addRequestSeries, type RequestMetrics, type RequestSeries } from './request-metrics.ts'
import { type SiblingGroup, SiblingThreads } from './sibling-threads.ts'

/** What the routes of metrics read. */
export interface MetricsSources {
  readonly requests: RequestMetrics
  readonly inference: InferenceStatistics
  readonly state: ServedState
  /** Version of Weir. */
  readonly version: string
  /** Threads whose numbers are added up; undefined for a gateway of one thread. */
  readonly siblings: SiblingGroup | undefined
}

interface ThreadMetrics {
  readonly requests: readonly RequestSeries[]
  readonly inference: readonly ModelStatistics[]
  readonly startedMs: number
}

/** Longest wait of a scrape for the job, in ms. */
const JOB_MS = 2000
/** Longest wait of a scrape for the statistics of models, in ms. */
const MODELS_MS = 1000

const ALONE: SiblingGroup = { channel: 'weir-gateway', threads: 1, thread: 0 }

/** Adds the metrics for Prometheus, and those of inference under Triton's names. */
export function addMetricsRoutes(app: FastifyInstance, sources: MetricsSources): void {
  const group = sources.siblings ?? ALONE
  const siblings = new SiblingThreads<ThreadMetrics>(group, () => ({
    requests: sources.requests.snapshot(),
    inference: sources.inference.all(),
    startedMs: performance.timeOrigin,
  }))
  app.addHook('onClose', () => siblings[Symbol.dispose]())
  app.get('/metrics', { schema: schemaOf('Metrics for Prometheus') }, async (_request, reply) => {
    const [threads, isJobReachable] = await Promise.all([
      siblings.collect(),
      answersInTime(sources.state),
    ])
    const families = gatewayFamilies({
      version: sources.version,
      threads: group.threads,
      startedMs: Math.min(...threads.map(({ startedMs }) => startedMs)),
      requests: addRequestSeries(threads.flatMap(({ requests }) => requests)),
      inference: addModelStatistics(threads.flatMap(({ inference }) => inference)),
      routing: sources.state.routing,
      isJobReachable,
    })
    return await send(reply, [...families, ...modelFamilies(await modelsOf(sources.state))])
  })
  app.get(
    '/metrics/triton',
    { schema: schemaOf("Metrics of inference under Triton's names") },
    async (_request, reply) => {
      const threads = await siblings.collect()
      const all = addModelStatistics(threads.flatMap(({ inference }) => inference))
      return await send(reply, tritonFamilies(all))
    },
  )
}

/** Whether the job answers a question for its routing table in the time that a scrape has. */
async function answersInTime(state: ServedState): Promise<boolean> {
  const asked = state.refreshRouting().then(
    () => true,
    () => false,
  )
  return await orAfter(systemClock, JOB_MS, asked, () => false)
}

/** Models of any kind with their statistics; none where the job serves rows, or does not answer. */
async function modelsOf(state: ServedState): Promise<readonly ModelInfo[]> {
  const hasModels = state.routing.states.some(({ kind }) => kind === MODEL_KIND)
  return hasModels && state.models !== undefined
    ? await state.models({ deadlineMs: MODELS_MS }).catch(() => [])
    : []
}

function schemaOf(summary: string) {
  const text = { 'text/plain': { schema: { type: 'string' } } }
  return {
    tags: ['metrics'],
    summary,
    response: { 200: { description: "Prometheus's text format 0.0.4.", content: text } },
  }
}

async function send(reply: FastifyReply, families: readonly MetricFamily[]) {
  return await reply.header('content-type', PROMETHEUS_CONTENT_TYPE).send(prometheusText(families))
}

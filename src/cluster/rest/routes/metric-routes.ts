import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireArgument } from '../../../core/errors.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import { PROMETHEUS_CONTENT_TYPE, prometheusText } from '../../../core/prometheus/text-format.ts'
import { overviewJson } from '../json/cluster.ts'
import {
  AGGREGATIONS,
  type Aggregation,
  aggregatedMetricsJson,
  jobMetrics,
  metricsJson,
  subtaskMetrics,
  vertexMetrics,
} from '../json/metrics.ts'
import { parseSlotId, slotId, slotMetrics } from '../json/task-managers.ts'
import { subtasksOf } from '../json/task-metrics.ts'
import type { JobSnapshot, ProcessSnapshot } from '../port/job-snapshot.ts'
import { clusterFamilies } from '../prometheus/cluster-families.ts'
import { jobOf, listOf, paramsOf, type RouteContext, subtaskOf, vertexOf } from './context.ts'
import { readableJobs } from './objects.ts'

const VERTEX = { params: paramsOf(['jobid', 'vertexid']) }
const SUBTASK = { params: paramsOf(['jobid', 'vertexid', 'subtaskindex']) }
/** Query parameters of metrics of one thing. */
const ONE = { query: ['get'] }
/** Query parameters of metrics of many things; `chosen` names those that count. */
const many = (chosen: string) => ({ query: ['get', 'agg', chosen] })

/** Routes of metrics: `/metrics` for Prometheus; Flink's: names without `get`, values with it, aggregates of many with `agg`. */
export function metricRoutes(app: FastifyInstance, context: RouteContext): void {
  const { cluster, refused } = context
  app.get('/metrics', async (request, reply) => {
    const { version } = cluster
    const own = { jobs: () => cluster.ownJobs?.() ?? cluster.jobs() }
    const jobs = await readableJobs(own, request)
    const scraped = { version, process: cluster.process(), jobs, refused }
    return await reply
      .header('content-type', PROMETHEUS_CONTENT_TYPE)
      .send(prometheusText(clusterFamilies(scraped)))
  })
  app.get('/jobs/metrics', { config: many('jobs') }, async (request) => {
    const chosen = listOf(request, 'jobs')
    const all = await readableJobs(cluster, request)
    const jobs = all.filter(({ id }) => chosen?.includes(id) ?? true)
    return aggregate(request, jobs.map(jobMetrics))
  })
  app.get('/jobmanager/metrics', { config: ONE }, async (request) =>
    metricsJson(
      processMetrics(cluster.process(), await readableJobs(cluster, request)),
      listOf(request, 'get'),
    ),
  )
  vertexMetricRoutes(app, context)
  taskManagerMetricRoutes(app, context)
}

/** Metrics of an operator of a job, of its subtasks together and of one of them. */
function vertexMetricRoutes(app: FastifyInstance, context: RouteContext): void {
  app.get(
    '/jobs/:jobid/vertices/:vertexid/metrics',
    { schema: VERTEX, config: ONE },
    async (request) => {
      const job = await jobOf(context, request)
      return metricsJson(vertexMetrics(job, vertexOf(job, request)), listOf(request, 'get'))
    },
  )
  app.get(
    '/jobs/:jobid/vertices/:vertexid/subtasks/metrics',
    { schema: VERTEX, config: many('subtasks') },
    async (request) => {
      const job = await jobOf(context, request)
      const vertex = vertexOf(job, request)
      const chosen = listOf(request, 'subtasks')
      const subtasks = subtasksOf(vertex).filter((i) => chosen?.includes(String(i)) ?? true)
      return aggregate(
        request,
        subtasks.map((subtask) => subtaskMetrics(job, vertex, subtask)),
      )
    },
  )
  app.get(
    '/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/metrics',
    { schema: SUBTASK, config: ONE },
    async (request) => {
      const job = await jobOf(context, request)
      const vertex = vertexOf(job, request)
      const values = subtaskMetrics(job, vertex, subtaskOf(vertex, request))
      return metricsJson(values, listOf(request, 'get'))
    },
  )
}

/** Metrics of all slots together and of one of them. */
function taskManagerMetricRoutes(app: FastifyInstance, { cluster }: RouteContext): void {
  app.get('/taskmanagers/metrics', { config: many('taskmanagers') }, async (request) => {
    const chosen = listOf(request, 'taskmanagers')
    const all = (await readableJobs(cluster, request)).flatMap((job) =>
      job.slots
        .filter(({ number }) => chosen?.includes(slotId(job, number)) ?? true)
        .map(({ number }) => slotMetrics(job, number)),
    )
    return aggregate(request, all)
  })
  app.get('/taskmanagers/:taskmanagerid/metrics', { config: ONE }, async (request) => {
    const { taskmanagerid } = request.params as { readonly taskmanagerid: string }
    const place = parseSlotId(taskmanagerid)
    const job = (await cluster.jobs()).find(({ id }) => id === place?.jobId)
    const values = job === undefined || place === undefined ? {} : slotMetrics(job, place.slot)
    return metricsJson(values, listOf(request, 'get'))
  })
}

function aggregate(request: FastifyRequest, all: readonly MetricSnapshot[]): object[] {
  const names = listOf(request, 'agg') ?? AGGREGATIONS.filter((name) => name !== 'skew')
  const aggregations = names.map((name): Aggregation => {
    const known = AGGREGATIONS.find((aggregation) => aggregation === name)
    requireArgument(known !== undefined, `agg takes ${AGGREGATIONS.join(', ')}, not "${name}"`)
    return known
  })
  return aggregatedMetricsJson(all, listOf(request, 'get'), aggregations)
}

/** Metrics of the JobManager's process under Flink's names. */
function processMetrics(
  { memory, cpuCores, startedMs }: ProcessSnapshot,
  jobs: readonly JobSnapshot[],
): MetricSnapshot {
  const overview = overviewJson(jobs, '') as Record<string, number>
  return {
    numRunningJobs: overview['jobs-running']!,
    numRegisteredTaskManagers: overview['taskmanagers']!,
    taskSlotsTotal: overview['slots-total']!,
    taskSlotsAvailable: overview['slots-available']!,
    'Status.JVM.Memory.Heap.Used': memory.heapUsed,
    'Status.JVM.Memory.Heap.Committed': memory.heapCommitted,
    'Status.JVM.Memory.Heap.Max': memory.heapMax,
    'Status.JVM.Memory.NonHeap.Used': memory.external,
    'Status.JVM.Memory.NonHeap.Committed': memory.external,
    'Status.JVM.Memory.NonHeap.Max': -1,
    'Status.JVM.Memory.Metaspace.Used': 0,
    'Status.JVM.Memory.Metaspace.Committed': 0,
    'Status.JVM.Memory.Metaspace.Max': 0,
    'Status.JVM.Memory.Direct.Count': 0,
    'Status.JVM.Memory.Direct.MemoryUsed': 0,
    'Status.JVM.Memory.Direct.TotalCapacity': 0,
    'Status.JVM.Memory.Mapped.Count': 0,
    'Status.JVM.Memory.Mapped.MemoryUsed': 0,
    'Status.JVM.Memory.Mapped.TotalCapacity': 0,
    'Status.Process.Memory.Resident': memory.resident,
    'Status.Process.CpuCores': cpuCores,
    'Status.Process.StartTime': startedMs,
  }
}

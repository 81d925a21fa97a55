import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import { backPressureJson } from '../json/back-pressure.ts'
import { type FlameGraphType, flameGraphOf } from '../json/flame-graph.ts'
import { subtasksOf } from '../json/task-metrics.ts'
import {
  subtaskAccumulatorsJson,
  subtaskJson,
  subtaskTimesJson,
  vertexAccumulatorsJson,
  vertexDetailJson,
  vertexTaskManagersJson,
  watermarksJson,
} from '../json/vertex.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import {
  controlOf,
  HEX_ID,
  jobOf,
  numberParam,
  paramsOf,
  queryOf,
  type RouteContext,
  subtaskOf,
  vertexOf,
} from './context.ts'

const VERTEX = { schema: { params: paramsOf(['jobid', 'vertexid']) } }
const SUBTASK = { schema: { params: paramsOf(['jobid', 'vertexid', 'subtaskindex']) } }
const ATTEMPT = { schema: { params: paramsOf(['jobid', 'vertexid', 'subtaskindex', 'attempt']) } }
/** Time for which a flame graph samples, ms. */
const SAMPLED_MS = 300

/** Pages of a vertex by the last part of their path. */
const PAGES: Readonly<Record<string, (job: JobSnapshot, vertex: VertexSnapshot) => unknown>> = {
  '': vertexDetailJson,
  '/subtasktimes': subtaskTimesJson,
  '/taskmanagers': vertexTaskManagersJson,
  '/watermarks': watermarksJson,
  '/backpressure': backPressureJson,
  '/accumulators': vertexAccumulatorsJson,
  '/subtasks/accumulators': subtaskAccumulatorsJson,
}

/** Routes that describe the vertices of a job. */
export function vertexRoutes(app: FastifyInstance, context: RouteContext): void {
  for (const [path, page] of Object.entries(PAGES)) {
    app.get(`/jobs/:jobid/vertices/:vertexid${path}`, VERTEX, async (request) => {
      const job = await jobOf(context, request)
      return page(job, vertexOf(job, request))
    })
  }
  app.get('/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex', SUBTASK, async (request) => {
    const job = await jobOf(context, request)
    const vertex = vertexOf(job, request)
    return subtaskJson(job, vertex, subtaskOf(vertex, request))
  })
  app.get(
    '/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/attempts/:attempt',
    ATTEMPT,
    async (request) => {
      const job = await jobOf(context, request)
      const vertex = vertexOf(job, request)
      requireCurrent(job, numberParam(request, 'attempt'))
      return subtaskJson(job, vertex, subtaskOf(vertex, request))
    },
  )
  flameGraphRoute(app, context)
}

function flameGraphRoute(app: FastifyInstance, context: RouteContext): void {
  app.get('/jobs/:jobid/vertices/:vertexid/flamegraph', FLAME_GRAPH, async (request) => {
    const control = controlOf(context, request)
    const job = await control.snapshot()
    const vertex = vertexOf(job, request)
    const chosen = queryOf(request, 'subtaskindex')
    const subtasks = subtasksOf(vertex).filter((i) => chosen === undefined || i === Number(chosen))
    const profiles = await Promise.all(subtasks.map((slot) => control.profile(slot, SAMPLED_MS)))
    const type = (queryOf(request, 'type') ?? 'full').toLowerCase() as FlameGraphType
    return { endTimestamp: job.nowMs + SAMPLED_MS, data: flameGraphOf(profiles, type) }
  })
}

const FLAME_GRAPH = {
  schema: {
    params: { type: 'object', properties: { jobid: HEX_ID, vertexid: HEX_ID } },
    querystring: {
      type: 'object',
      properties: {
        type: {
          type: 'string',
          pattern: '^(?:[fF][uU][lL][lL]|(?:[oO][nN]|[oO][fF][fF])_[cC][pP][uU])$',
        },
        subtaskindex: { type: 'string', pattern: '^[0-9]{1,5}$' },
      },
    },
  },
}

/** Throws NOT_FOUND for an earlier attempt: of those only the failures are kept. */
function requireCurrent(job: JobSnapshot, attempt: number): void {
  const current = Math.max(0, job.attempt - 1)
  if (attempt === current) return
  throw new WeirError(
    'NOT_FOUND',
    `attempt ${attempt} is not the present one (${current}); see /jobs/${job.id}/exceptions for earlier ones`,
  )
}

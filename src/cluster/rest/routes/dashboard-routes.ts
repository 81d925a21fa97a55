import type { FastifyInstance } from 'fastify'
import { keyGroupsJson } from '../json/key-groups.ts'
import { learningJson } from '../json/learning.ts'
import { liveJson } from '../json/live.ts'
import { SAMPLE_MS, SAMPLES } from '../live/job-histories.ts'
import {
  controlOf,
  jobOf,
  listOf,
  paramsOf,
  queryOf,
  type RouteContext,
  vertexOf,
} from './context.ts'

const JOB = { schema: { params: paramsOf(['jobid']) } }
const VERTEX = { schema: { params: paramsOf(['jobid', 'vertexid']) } }

/** Routes of Weir that the dashboard watches: one answer in place of one for each vertex. */
export function dashboardRoutes(app: FastifyInstance, context: RouteContext): void {
  app.get('/weir/jobs/:jobid/live', JOB, async (request) => liveJson(await jobOf(context, request)))
  app.get('/weir/jobs/:jobid/learning', JOB, async (request) =>
    learningJson(await jobOf(context, request)),
  )
  app.get('/weir/jobs/:jobid/vertices/:vertexid/key-groups', VERTEX, async (request) => {
    const control = controlOf(context, request)
    const vertex = vertexOf(await control.snapshot(), request)
    return keyGroupsJson(vertex, await control.keyGroupRecords(vertex.uid))
  })
  app.get('/weir/jobs/:jobid/history', HISTORY, async (request) => {
    const metrics = listOf(request, 'metrics') ?? []
    const last = Number(queryOf(request, 'last') ?? SAMPLES)
    const { id } = controlOf(context, request)
    const window = context.histories.of(id)?.read(metrics, last)
    return {
      everyMs: SAMPLE_MS,
      times: window?.times ?? [],
      series: metrics.map((metric, i) => ({ metric, values: window?.values[i] ?? [] })),
    }
  })
}

const HISTORY = {
  config: { query: ['metrics'] },
  schema: {
    ...JOB.schema,
    querystring: {
      type: 'object',
      properties: { last: { type: 'string', pattern: '^[0-9]{1,6}$' } },
      required: ['metrics'],
    },
  },
}

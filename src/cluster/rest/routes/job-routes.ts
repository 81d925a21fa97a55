import type { FastifyInstance } from 'fastify'
import { exceptionsJson } from '../json/exceptions.ts'
import {
  accumulatorsJson,
  executionResultJson,
  jobConfigJson,
  jobDetailJson,
  jobOverviewJson,
} from '../json/job.ts'
import { jobMetrics, metricsJson } from '../json/metrics.ts'
import { planJson } from '../json/plan.ts'
import { jobOf, listOf, paramsOf, queryOf, type RouteContext } from './context.ts'
import { readableJobs } from './objects.ts'

const JOB = { schema: { params: paramsOf(['jobid']) } }
/** Failures that `/exceptions` gives when the request names no number; Flink's default. */
const EXCEPTIONS = 20

/** Routes that describe jobs. */
export function jobRoutes(app: FastifyInstance, context: RouteContext): void {
  const { cluster } = context
  app.get('/jobs', async (request) => ({
    jobs: (await readableJobs(cluster, request)).map(({ id, status }) => ({ id, status })),
  }))
  app.get('/jobs/overview', async (request) => ({
    jobs: (await readableJobs(cluster, request)).map(jobOverviewJson),
  }))
  app.get('/jobs/:jobid', JOB, async (request) => jobDetailJson(await jobOf(context, request)))
  app.get('/jobs/:jobid/plan', JOB, async (request) => ({
    plan: planJson(await jobOf(context, request)),
  }))
  app.get('/jobs/:jobid/config', JOB, async (request) =>
    jobConfigJson(await jobOf(context, request)),
  )
  app.get('/jobs/:jobid/status', JOB, async (request) => ({
    status: (await jobOf(context, request)).status,
  }))
  app.get('/jobs/:jobid/execution-result', JOB, async (request) =>
    executionResultJson(await jobOf(context, request)),
  )
  app.get('/jobs/:jobid/accumulators', JOB, async (request) =>
    accumulatorsJson(await jobOf(context, request)),
  )
  app.get('/jobs/:jobid/metrics', { ...JOB, config: { query: ['get'] } }, async (request) =>
    metricsJson(jobMetrics(await jobOf(context, request)), listOf(request, 'get')),
  )
  app.get('/jobs/:jobid/exceptions', EXCEPTIONS_ROUTE, async (request) => {
    const limit = Number(queryOf(request, 'maxExceptions') ?? EXCEPTIONS)
    return exceptionsJson(await jobOf(context, request), limit)
  })
}

const EXCEPTIONS_ROUTE = {
  schema: {
    params: paramsOf(['jobid']),
    querystring: {
      type: 'object',
      properties: { maxExceptions: { type: 'string', pattern: '^[0-9]{1,6}$' } },
    },
  },
}

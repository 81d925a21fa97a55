import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import { HIGHEST_VERSION } from '../../../core/model-version.ts'
import type { PromotionRequest, RollbackRequest, VersionView } from '../port/job-data.ts'
import { controlOf, param, paramsOf, queryOf, type RouteContext } from './context.ts'

const JOB = { schema: { params: paramsOf(['jobid']) } }
const VERSION = { schema: { params: paramsOf(['jobid', 'version']) } }
const WORD = { type: 'string', minLength: 1, maxLength: 200 } as const
const EXPECT_LIVE = { type: 'integer', minimum: 0, maximum: HIGHEST_VERSION } as const
const REASON = { type: 'string', minLength: 1, maxLength: 1000 } as const

const DIFFERENCE = {
  schema: {
    params: paramsOf(['jobid']),
    querystring: { type: 'object', required: ['a', 'b'], properties: { a: WORD, b: WORD } },
  },
}
const PROMOTE = {
  schema: {
    ...VERSION.schema,
    body: {
      type: ['object', 'null'],
      additionalProperties: false,
      properties: { expectLive: EXPECT_LIVE, force: REASON },
    },
  },
}
const ROLLBACK = {
  schema: {
    ...JOB.schema,
    body: {
      type: ['object', 'null'],
      additionalProperties: false,
      properties: { expectLive: EXPECT_LIVE, reason: REASON },
    },
  },
}

/** Routes of Weir about the versions of a job's model, and about the models that it asks. */
export function modelRoutes(app: FastifyInstance, context: RouteContext): void {
  app.get('/weir/jobs/:jobid/models', JOB, async (request) =>
    controlOf(context, request).data.models({}),
  )
  app.get('/weir/jobs/:jobid/served-models', JOB, async (request) =>
    controlOf(context, request).data.servedModels({}),
  )
  app.get('/weir/jobs/:jobid/models/diff', DIFFERENCE, async (request) =>
    controlOf(context, request).data.difference({
      a: queryOf(request, 'a') ?? '',
      b: queryOf(request, 'b') ?? '',
    }),
  )
  app.get('/weir/jobs/:jobid/models/:version', VERSION, async (request) =>
    versionView(context, request),
  )
  app.post('/weir/jobs/:jobid/models/:version/promote', PROMOTE, async (request) => {
    const body = (request.body ?? {}) as Omit<PromotionRequest, 'version'>
    const version = param(request, 'version')
    return await controlOf(context, request).data.promote({ ...body, version })
  })
  app.post('/weir/jobs/:jobid/models/rollback', ROLLBACK, async (request) => {
    const body = (request.body ?? {}) as RollbackRequest
    return await controlOf(context, request).data.rollBack(body)
  })
}

/** Throws UNKNOWN_VERSION. */
async function versionView(context: RouteContext, request: FastifyRequest): Promise<VersionView> {
  const { versions, live, model } = await controlOf(context, request).data.models({})
  const word = param(request, 'version')
  const found = versions.find(
    ({ number, id }, n) =>
      String(number) === word ||
      id === word ||
      (word === 'latest' && n === 0) ||
      (word === 'live' && number === live),
  )
  if (found !== undefined) return found
  const numbers = versions.map(({ number }) => number).join(', ') || 'none'
  throw new WeirError(
    'UNKNOWN_VERSION',
    `there is no version "${word}" of ${model}; its versions are ${numbers} (give a number, an id, live or latest)`,
  )
}

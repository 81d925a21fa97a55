import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireArgument } from '../../../core/errors.ts'
import { CONSISTENCY_GRAMMAR, parseConsistency } from '../../../wire/consistency-text.ts'
import type { Consistency } from '../../../wire/model-reader.ts'
import { controlOf, param, paramsOf, queryOf, type RouteContext } from './context.ts'

const JOB = { schema: { params: paramsOf(['jobid']) } }
/** Bytes of a key as text of UTF-8, which a query parameter may have. */
const KEY = { type: 'string', maxLength: 4096 } as const
const COUNT = { type: 'string', pattern: '^[1-9][0-9]{0,2}$|^1000$' } as const
const VERSION = { type: 'string', pattern: '^[1-9][0-9]{0,9}$' } as const

const ENTRY = {
  schema: {
    params: paramsOf(['jobid', 'name']),
    querystring: {
      type: 'object',
      required: ['key'],
      properties: { key: { ...KEY, minLength: 1 }, version: VERSION, consistency: KEY },
    },
  },
}
const ROWS = {
  schema: {
    params: paramsOf(['jobid', 'name']),
    querystring: {
      type: 'object',
      properties: { after: KEY, limit: COUNT, version: VERSION },
    },
  },
}
const RECOMMENDATIONS = {
  schema: {
    params: paramsOf(['jobid']),
    querystring: {
      type: 'object',
      required: ['user'],
      properties: { user: { ...KEY, minLength: 1 }, k: COUNT, version: VERSION },
    },
  },
}

/** Routes of Weir about the state of a job and the topics that it reads. */
export function stateRoutes(app: FastifyInstance, context: RouteContext): void {
  app.get('/weir/jobs/:jobid/states', JOB, async (request) =>
    controlOf(context, request).data.states({}),
  )
  app.get('/weir/jobs/:jobid/states/:name/entry', ENTRY, async (request) =>
    controlOf(context, request).data.entry({
      state: param(request, 'name'),
      key: queryOf(request, 'key') ?? '',
      ...versionOf(request),
      ...consistencyOf(request),
    }),
  )
  app.get('/weir/jobs/:jobid/states/:name/rows', ROWS, async (request) =>
    controlOf(context, request).data.rows({
      state: param(request, 'name'),
      after: queryOf(request, 'after') ?? '',
      limit: Number(queryOf(request, 'limit') ?? 100),
      ...versionOf(request),
    }),
  )
  app.get('/weir/jobs/:jobid/recommendations', RECOMMENDATIONS, async (request) =>
    controlOf(context, request).data.recommendations({
      user: queryOf(request, 'user') ?? '',
      k: Number(queryOf(request, 'k') ?? 10),
      ...versionOf(request),
    }),
  )
  app.get('/weir/jobs/:jobid/topics', JOB, async (request) =>
    controlOf(context, request).data.topics({}),
  )
}

function versionOf(request: FastifyRequest): { readonly version?: number } {
  const version = queryOf(request, 'version')
  return version === undefined ? {} : { version: Number(version) }
}

/** Throws INVALID_ARGUMENT. */
function consistencyOf(request: FastifyRequest): { readonly consistency?: Consistency } {
  const text = queryOf(request, 'consistency')
  if (text === undefined) return {}
  const consistency = parseConsistency(text)
  requireArgument(
    consistency !== undefined,
    `consistency must be ${CONSISTENCY_GRAMMAR}, not "${text}"`,
  )
  return { consistency }
}

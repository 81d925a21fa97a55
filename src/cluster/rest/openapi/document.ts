import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import { collectOpenApi, type DocumentedRoute } from '../../../http/openapi.ts'
import { CLUSTER_OPERATIONS, SLOT_OPERATIONS } from './cluster-operations.ts'
import { CHANGE_OPERATIONS, JOB_OPERATIONS } from './job-operations.ts'
import type { Operation, Operations } from './operation.ts'
import { listOf, objectOf, type Schema, TEXT } from './schema.ts'
import { FLAME_NODE } from './vertex-answers.ts'
import { VERTEX_OPERATIONS } from './vertex-operations.ts'
import { WEIR_OPERATIONS } from './weir-operations.ts'

/** Options of the document. */
export interface DocumentOptions {
  /** Version of Weir. */
  readonly version: string
  /** Whether requests need a token. */
  readonly needsToken: boolean
}

/** Operations by tag, with what the tag stands for. */
const TAGS: Readonly<Record<string, readonly [string, Operations]>> = {
  jobs: ['Jobs and their checkpoints, as Flink has them.', JOB_OPERATIONS],
  changes: ['What changes a job: needs the role admin.', CHANGE_OPERATIONS],
  vertices: ['Operators and their subtasks, as Flink has them.', VERTEX_OPERATIONS],
  slots: ['Slots of jobs, which are task managers.', SLOT_OPERATIONS],
  weir: ['State, models, learning and events.', WEIR_OPERATIONS],
  cluster: ['The JobManager itself.', CLUSTER_OPERATIONS],
}

const DESCRIPTION = `Jobs of a JobManager, or of a process that runs one job, with the paths of Flink 1.20.

Every error is \`{"errors": ["CODE: sentence"]}\`. A method that a path does not have is answered with 405 and the
methods in \`Allow\`. Reading needs the role \`read\`, everything else \`admin\`.`

/** Collects the document from the routes that are added from now on, and adds the page to try them. */
export async function addOpenApi(app: FastifyInstance, options: DocumentOptions): Promise<void> {
  app.addSchema({ $id: 'Errors', ...objectOf({ errors: listOf(TEXT) }) })
  app.addSchema({ $id: 'FlameNode', ...FLAME_NODE })
  await collectOpenApi(app, {
    title: 'Weir JobManager',
    description: DESCRIPTION,
    tags: Object.entries(TAGS).map(([name, [description]]) => ({ name, description })),
    servers: [
      { url: '/', description: 'the paths' },
      { url: '/v1', description: 'the same paths below the version of Flink’s interface' },
    ],
    ...options,
    route: (schema, url, route) =>
      documented({ schema: schema ?? {}, url, method: route.method }, options.needsToken),
  })
}

/** Number of operations that the document has. */
export function operationCount(): number {
  return Object.values(TAGS).reduce((sum, [, all]) => sum + Object.keys(all).length, 0)
}

/** What the document says of a route. Throws ILLEGAL_STATE for a route that it does not have. */
function operationOf(method: string, url: string): Operation & { readonly tag: string } {
  for (const [tag, [, operations]] of Object.entries(TAGS)) {
    const operation = operations[`${method} ${url}`]
    if (operation !== undefined) return { ...operation, tag }
  }
  throw new WeirError('ILLEGAL_STATE', `the OpenAPI document does not have ${method} ${url}`)
}

function documented(
  { schema, url, method }: Pick<RouteOptions, 'url' | 'method'> & { schema: FastifySchema },
  needsToken: boolean,
): DocumentedRoute {
  const name = [method].flat()[0]!
  // The files of the page.
  if (schema.hide === true) return { url, schema }
  const operation = operationOf(name, url)
  const { tag, summary, query, errors = [], isPublic = false } = operation
  const body = schema.body as { readonly type?: unknown } | undefined
  const response = {
    ...successOf(operation),
    ...errorResponses({
      hasParameters: url.includes(':'),
      isOfJob: url.includes('/:jobid'),
      hasBody: body !== undefined,
      needsToken: needsToken && !isPublic,
      others: errors,
    }),
  }
  return {
    url,
    hasOptionalBody: Array.isArray(body?.type) && body.type.includes('null'),
    schema: {
      ...schema,
      ...(query === undefined ? {} : { querystring: query }),
      summary,
      tags: [tag],
      ...(isPublic && needsToken ? { security: [] } : {}),
      response,
    },
  }
}

function successOf({ answer, type, status = 200 }: Operation): Readonly<Record<number, object>> {
  const schema: Schema | undefined = type === undefined ? answer : TEXT
  if (schema === undefined) return {}
  const content = { [type ?? 'application/json']: { schema } }
  return { [status]: { description: status === 202 ? 'Accepted.' : 'The answer.', content } }
}

/** What decides which errors a route can answer with. */
interface ErrorCauses {
  /** The path has parameters. */
  readonly hasParameters: boolean
  /** The path names a job, which may be in another process. */
  readonly isOfJob: boolean
  readonly hasBody: boolean
  readonly needsToken: boolean
  /** Statuses that only some routes have. */
  readonly others: readonly number[]
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'The token is missing or wrong.',
  403: 'The role of the token does not allow this, or a page of another site asks.',
  404: 'There is no such thing.',
  408: 'The request did not arrive in time.',
  409: 'The state of the job or of the model does not allow this.',
  413: 'The body is too large.',
  415: 'The body is no JSON.',
  429: 'Too many requests; wait as long as Retry-After says.',
  431: 'The path and the header fields are too long.',
  500: 'The server failed.',
  501: 'Weir, this process or this job does not do this; the sentence says what to do.',
  503: 'Not now; try again.',
  504: 'No answer came before the deadline.',
}

/** The errors of a route as responses of OpenAPI, by status. */
function errorResponses(causes: ErrorCauses): Readonly<Record<number, object>> {
  const { hasParameters, isOfJob, hasBody, needsToken, others } = causes
  const statuses = [
    ...[400, 403, 408, 431, 500, 503],
    ...(hasParameters ? [404] : []),
    ...(isOfJob ? [409, 504] : []),
    ...(hasBody ? [413, 415] : []),
    ...(needsToken ? [401, 429] : []),
    ...others,
  ]
  return Object.fromEntries(statuses.map((status) => [status, responseOf(status)]))
}

function responseOf(status: number): object {
  return {
    description: DESCRIPTIONS[status],
    content: { 'application/json': { schema: { $ref: 'Errors#' } } },
  }
}

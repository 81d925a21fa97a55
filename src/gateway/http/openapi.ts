import type { FastifyContextConfig, FastifyInstance, FastifySchema } from 'fastify'
import { collectOpenApi, type DocumentedRoute } from '../../http/openapi.ts'
import { PROBLEM_SCHEMA } from './schemas.ts'

/** What the OpenAPI document says of a route, where its schema does not say it. */
export interface RouteDocument {
  /** Path with a name for each parameter, of a route whose path ends with a wildcard. */
  readonly path?: string
  /** Statuses of problems that only this route answers with. */
  readonly problems?: readonly number[]
  /** Whether a request may leave the body out. @default false */
  readonly hasOptionalBody?: boolean
  /** Parts that stand in for those of the schema. */
  readonly schema?: FastifySchema
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the OpenAPI document says of the route, where its schema does not say it. */
    readonly document?: RouteDocument
  }
}

/** Options of the document. */
export interface DocumentOptions {
  /** Version of Weir. */
  readonly version: string
  /** Whether requests need a token. */
  readonly needsToken: boolean
}

const DESCRIPTION = `Predictions, observations and state of a running job.

Every error is a problem (RFC 9457). A method that a path does not have is answered with 405 and the methods in \`Allow\`.
Fields of a body and parameters of a path have exactly the type that is documented: an id is a string, also \`"1592"\`. A field that a body does not have is refused with the nearest name.`

const TAGS = [
  { name: 'predictions', description: 'Ratings of pairs of user and item.' },
  { name: 'observations', description: 'Ratings that users gave, appended durably to a topic.' },
  { name: 'recommender', description: 'Top lists, with the paths of Oryx 2.' },
  { name: 'inference', description: 'Tensors: the Open Inference Protocol v2.' },
  { name: 'state', description: 'Rows and values of the job.' },
  { name: 'health', description: 'Probes for a supervisor.' },
  { name: 'metrics', description: 'Metrics for Prometheus.' },
]

/** Collects the document from the routes that are added from now on, and adds the page to try them. */
export async function addOpenApi(app: FastifyInstance, options: DocumentOptions): Promise<void> {
  const { version, needsToken } = options
  app.addSchema({ $id: 'Problem', ...PROBLEM_SCHEMA })
  await collectOpenApi(app, {
    title: 'Weir gateway',
    version,
    description: DESCRIPTION,
    tags: TAGS,
    needsToken,
    route: (schema, url, route) =>
      documented(
        { schema, path: url, method: route.method, config: route.config ?? {} },
        needsToken,
      ),
  })
}

/** Adds the route that answers with the document. */
export function addDocumentRoute(app: FastifyInstance): void {
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}

/** A route as it was added. */
interface AddedRoute {
  readonly schema: FastifySchema | undefined
  readonly path: string
  readonly method: string | string[]
  readonly config: FastifyContextConfig
}

/** A route as the document has it. Routes do not have its problems: they need no serializer. */
function documented(
  { schema, path, method, config }: AddedRoute,
  needsToken: boolean,
): DocumentedRoute {
  const { document = {}, role } = config
  const { path: url = path, hasOptionalBody = false, problems: others = [] } = document
  const all: FastifySchema = { ...schema, ...document.schema }
  const isPublic = role === 'public'
  const problems = problemResponses({
    hasParameters: url.includes(':'),
    hasBody: ![method].flat().every((one) => one === 'GET' || one === 'HEAD'),
    needsToken: needsToken && !isPublic,
    others,
  })
  const response = { ...(all.response as object), ...problems }
  const security = isPublic && needsToken ? { security: [] } : {}
  return { url, hasOptionalBody, schema: { ...all, response, ...security } }
}

/** What decides which problems a route can answer with. */
interface ProblemCauses {
  /** The path has parameters. */
  readonly hasParameters: boolean
  readonly hasBody: boolean
  readonly needsToken: boolean
  /** Statuses that only this route has. */
  readonly others: readonly number[]
}

interface Described {
  readonly description: string
  /** Header fields of the answer. */
  readonly headers?: Readonly<Record<string, object>>
}

const RETRY_AFTER = {
  'Retry-After': { type: 'string', pattern: '^[0-9]+$', description: 'Seconds to wait.' },
}

const DESCRIPTIONS: Readonly<Record<number, Described>> = {
  400: { description: 'The request is not valid.' },
  401: {
    description: 'The token is missing or wrong.',
    headers: { 'WWW-Authenticate': { type: 'string' } },
  },
  403: { description: 'The role of the token does not allow this.' },
  404: { description: 'There is no such thing.' },
  406: { description: 'The answer has no type that Accept allows.' },
  408: { description: 'The request did not arrive in time.' },
  409: {
    description: 'The state of the model does not allow this, or the version exists already.',
  },
  413: { description: 'The body is too large.' },
  414: { description: 'A part of the path is too long.' },
  415: { description: 'The body has a type that the route does not read.' },
  422: { description: 'The model cannot answer this request, alone or in a batch.' },
  429: {
    description: 'Too many requests; wait as long as Retry-After says.',
    headers: RETRY_AFTER,
  },
  431: { description: 'The path and the header fields are too long.' },
  500: { description: 'The server failed.' },
  501: { description: 'The gateway does not do this; the detail says what to do.' },
  503: { description: 'Not now; wait as long as Retry-After says.', headers: RETRY_AFTER },
  504: { description: 'No answer came before the deadline.' },
  507: { description: 'The disk is full.' },
}

const ALWAYS = [400, 408, 431, 500, 503, 504]

/** The problems of a route as responses of OpenAPI, by status. */
function problemResponses(causes: ProblemCauses): Readonly<Record<number, object>> {
  const { hasParameters, hasBody, needsToken, others } = causes
  const statuses = [
    ...ALWAYS,
    ...(hasParameters ? [404, 414] : []),
    ...(hasBody ? [413, 415] : []),
    ...(needsToken ? [401, 403, 429] : []),
    ...others,
  ]
  return Object.fromEntries(statuses.map((status) => [status, responseOf(DESCRIPTIONS[status]!)]))
}

function responseOf({ description, headers }: Described): object {
  return {
    description,
    ...(headers === undefined ? {} : { headers }),
    content: { 'application/problem+json': { schema: { $ref: 'Problem#' } } },
  }
}

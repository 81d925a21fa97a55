import type { FastifyContextConfig, FastifyInstance, FastifySchema } from 'fastify'
import { collectOpenApi, type DocumentedRoute } from '../../http/openapi.ts'
import { PROBLEM_SCHEMA } from '../http/schemas.ts'
import { problemResponses } from './problem-responses.ts'

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

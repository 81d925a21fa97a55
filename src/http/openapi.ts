import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { ACCESSIBLE_PAGE } from './accessible-page.ts'

/** A route as its OpenAPI document has it. */
export interface DocumentedRoute {
  readonly schema: FastifySchema
  /** Path, with a name for each parameter. */
  readonly url: string
  /** Whether a request may leave the body out. @default false */
  readonly hasOptionalBody?: boolean
}

/** Options of an OpenAPI document. */
export interface OpenApiOptions {
  readonly title: string
  /** Version of Weir. */
  readonly version: string
  /** Text in Markdown. */
  readonly description: string
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** Whether requests need a token. */
  readonly needsToken: boolean
  /** Prefixes of the paths. @default none */
  readonly servers?: readonly { readonly url: string; readonly description: string }[]
  /** What the document says of a route. */
  readonly route: (
    schema: FastifySchema | undefined,
    url: string,
    route: RouteOptions,
  ) => DocumentedRoute
}

const SECURITY = {
  components: { securitySchemes: { token: { type: 'http' as const, scheme: 'bearer' } } },
  security: [{ token: [] }],
}

/**
 * Collects an OpenAPI document from the routes that are added from now on, and adds the page to try them at
 * `/docs`. `app.swagger()` is the document.
 */
export async function collectOpenApi(app: FastifyInstance, options: OpenApiOptions): Promise<void> {
  const { title, version, description, tags, needsToken, servers } = options
  await app.register(swagger, {
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, i) =>
        typeof $id === 'string' ? $id : `def-${i}`,
    },
    transform: ({ schema, url, route }) => {
      const { hasOptionalBody, ...documented } = options.route(schema, url, route)
      const named = {
        operationId: operationIdOf(route.method, documented.url),
        ...documented.schema,
        ...(hasOptionalBody === true ? { [OPTIONAL_BODY]: true } : {}),
      }
      return { url: documented.url, schema: named }
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject
      markOptionalBodies(document.openapiObject)
      return document.openapiObject
    },
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description },
      tags: [...tags],
      ...(servers === undefined ? {} : { servers: [...servers] }),
      ...(needsToken ? SECURITY : {}),
    },
  })
  await app.register(swaggerUi, { routePrefix: '/docs', ...ACCESSIBLE_PAGE })
}

/** Name of an operation for clients that are generated: `getV1PredictUserItem`. */
function operationIdOf(method: string | string[], path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  const capital = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${[method].flat()[0]!.toLowerCase()}${capital.join('')}`
}

/** Marks an operation until the document is complete: the plugin calls every body required. */
const OPTIONAL_BODY = 'x-optional-body'

function markOptionalBodies({ paths = {} }: { readonly paths?: object }): void {
  for (const operation of Object.values(paths).flatMap((path: object) => Object.values(path))) {
    if (typeof operation !== 'object' || operation === null || !(OPTIONAL_BODY in operation))
      continue
    Reflect.deleteProperty(operation, OPTIONAL_BODY)
    const { requestBody } = operation as { requestBody?: { required?: boolean } }
    if (requestBody !== undefined) requestBody.required = false
  }
}

import { randomBytes } from 'node:crypto'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { bearerTokenOf } from '../../../http/access/bearer.ts'
import type { AccessControl, AccessDecision } from '../../../http/access/control.ts'
import type { Role } from '../../../http/access/role.ts'
import { addAudit } from '../../../http/audit.ts'
import { clientAddressOf } from '../../../http/client-address.ts'
import { FairTurns } from '../../../http/fair-turns.ts'
import { addJsonParser } from '../../../http/json-parser.ts'
import { KnownPaths, pathOf } from '../../../http/known-paths.ts'
import { isRead, requireLoopbackName, requireOwnOrigin } from '../../../http/own-origin.ts'
import { addSecurityHeaders } from '../../../http/security-headers.ts'
import '../../../http/principal.ts'
import { refuseUnknownFields } from '../../../http/unknown-fields.ts'
import { VALIDATION } from '../../../http/validation.ts'
import type { JobHistories } from '../live/job-histories.ts'
import { type RestAnswer, WatchedAnswers } from '../live/watched-answers.ts'
import type { Cluster } from '../port/cluster.ts'
import type { AsyncOperations } from '../routes/async-operations.ts'
import { changeOf, fieldOf } from '../routes/changes.ts'
import { checkpointRoutes } from '../routes/checkpoint-routes.ts'
import { clusterRoutes } from '../routes/cluster-routes.ts'
import type { RouteContext } from '../routes/context.ts'
import { dashboardRoutes } from '../routes/dashboard-routes.ts'
import { errorAnswer } from '../routes/errors.ts'
import { eventRoutes } from '../routes/event-routes.ts'
import { healthRoutes } from '../routes/health-routes.ts'
import { jobRoutes } from '../routes/job-routes.ts'
import { metricRoutes } from '../routes/metric-routes.ts'
import { modelRoutes } from '../routes/model-routes.ts'
import { objectsOf } from '../routes/objects.ts'
import { operationRoutes } from '../routes/operation-routes.ts'
import { scaledJobRoutes } from '../routes/scaled-job-routes.ts'
import { stateRoutes } from '../routes/state-routes.ts'
import { taskManagerRoutes } from '../routes/task-manager-routes.ts'
import { vertexRoutes } from '../routes/vertex-routes.ts'
import { dashboardFiles } from './dashboard-files.ts'
import { documentRoutes } from './document-routes.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route needs no token. */
    readonly isPublic?: boolean
  }
}

/** Options of the REST application. */
export interface RestAppOptions {
  readonly cluster: Cluster
  readonly operations: AsyncOperations
  readonly histories: JobHistories
  readonly access: AccessControl
  readonly clock: Clock
  /** Whether the port encrypts. @default false */
  readonly hasTls?: boolean
  /** Whether the port listens on a loopback address only. */
  readonly isLoopback: boolean
  /**
   * Compilers of the routes' schemas, which applications of one process may share. @default own ones, with
   * `buildValidator`
   */
  readonly compilers?: Compilers
}

type Compilers = NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']

/** Bytes of a request's body: bodies are small JSON objects. */
const BODY_LIMIT = 64 * 1024

/** The REST application of a JobManager or of one job, at its paths and below `/v1`. */
export async function createRestApp(options: RestAppOptions): Promise<FastifyInstance> {
  const { cluster, operations, histories, access, clock } = options
  const newTriggerId = (): string => randomBytes(16).toString('hex')
  const { refused } = access
  const context: RouteContext = { cluster, operations, histories, newTriggerId, refused }
  const withoutRoutes = (): FastifyInstance => bareApp(options.compilers)
  const app = withoutRoutes()
  addSecurityHeaders(app, options.hasTls === true)
  app.addHook('onRequest', async (request, reply) => {
    requireOwnOrigin(request)
    if (options.isLoopback) requireLoopbackName(request)
    if (request.routeOptions.config.isPublic === true) return
    const decision = await decide(request, { access, cluster })
    if (decision.kind !== 'unauthenticated') request.principal = decision.principal
    if (decision.kind === 'allowed') return
    if (decision.kind === 'unauthenticated') reply.header('www-authenticate', 'Bearer')
    if (decision.kind === 'limited') {
      reply.header('retry-after', Math.ceil(decision.retryAfterMs / 1000))
    }
    const { body } = errorAnswer(decision.error)
    return await reply.code(decision.status).send(body)
  })
  refuseUnknownPaths(app)
  refuseUnknownFields(app, ({ routeOptions: { config, schema } }) =>
    // A page's parameters are its own affair; a probe says which it takes.
    config.isPublic === true && config.query === undefined ? undefined : (schema ?? {}),
  )
  addAudit(app, access.audit, changeOf, fieldOf)
  const watched = new WatchedAnswers({ clock, answer: answersOf(context, withoutRoutes) })
  app.addHook('onClose', async () => watched[Symbol.dispose]())
  const routes = async (scope: FastifyInstance): Promise<void> => {
    for (const add of ROUTES) add(scope, context)
    eventRoutes(scope, { watched, access, clock })
  }
  await app.register(routes)
  await app.register(routes, { prefix: '/v1' })
  const { version } = cluster
  const { needsToken } = access
  documentRoutes(app, { version, needsToken, withoutRoutes, addRoutes: routes })
  dashboardFiles(app)
  await app.ready()
  return app
}

/**
 * Answers of the routes to requests of this process: for streams of events, which are authorized when they
 * are opened.
 */
function answersOf(
  context: RouteContext,
  withoutRoutes: () => FastifyInstance,
): (path: string) => Promise<RestAnswer> {
  let app: FastifyInstance | undefined
  const withRoutes = (): FastifyInstance => {
    const created = withoutRoutes()
    for (const add of ROUTES) add(created, context)
    return created
  }
  return async (url) => {
    app ??= withRoutes()
    const { statusCode, body } = await app.inject({ url })
    return { status: statusCode, body }
  }
}

/** An application without routes. */
function bareApp(compilers: Compilers): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: true },
    ...VALIDATION,
    ...(compilers === undefined ? {} : { schemaController: { compilersFactory: compilers } }),
    frameworkErrors: (error, _request, reply) => void sendError(reply, error),
    forceCloseConnections: true,
  })
  addJsonParser(app, new FairTurns(() => performance.now()))
  app.addHook('onSend', async (_request, reply) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  })
  app.setErrorHandler(async (error, _request, reply) => await sendError(reply, error))
  return app
}

function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, body } = errorAnswer(error)
  return reply.code(status).send(body)
}

/**
 * Answers requests that no route takes, before their body is read: 405 with the methods of the path, or 404.
 * A change of a path that is written out, such as `/jobs/overview`, never reaches a route like `/jobs/:jobid`.
 */
function refuseUnknownPaths(app: FastifyInstance): void {
  const paths = KnownPaths.of(app)
  app.addHook('onRequest', async ({ is404, method, url }, reply) => {
    if (!is404 && isRead(method)) return
    const path = pathOf(url)
    const methods = paths.methodsOf(path)
    if (!is404 && (methods.length === 0 || methods.includes(method))) return
    const shown = path.slice(0, 200)
    if (methods.length === 0) {
      return await reply.code(404).send({ errors: [`Not found: ${method} ${shown}`] })
    }
    const allow = methods.join(', ')
    const errors = [`METHOD_NOT_ALLOWED: ${shown} takes ${allow}, not ${method}`]
    return await reply.code(405).header('allow', allow).send({ errors })
  })
}

const ROUTES = [
  clusterRoutes,
  healthRoutes,
  jobRoutes,
  metricRoutes,
  vertexRoutes,
  checkpointRoutes,
  operationRoutes,
  taskManagerRoutes,
  dashboardRoutes,
  stateRoutes,
  modelRoutes,
  scaledJobRoutes,
]

/** Whether a request may run; of a token with rights, on the objects of its path. */
async function decide(
  request: FastifyRequest,
  { access, cluster }: Pick<RestAppOptions, 'access' | 'cluster'>,
): Promise<AccessDecision> {
  const token = bearerTokenOf(request.headers.authorization)
  const needed = neededRole(request)
  await access.prove(token)
  const principal = access.authenticate(token)
  const hasRights = principal?.rights !== undefined
  const on = hasRights ? await objectsOf(cluster, request, { principal, needed }) : undefined
  const from = { remoteAddress: clientAddressOf(request) }
  return access.authorize(token, needed, { on, from })
}

/** Reading needs the role `read`; everything that changes a job or the cluster needs `admin`. */
function neededRole({ method }: FastifyRequest): Role {
  return isRead(method) ? 'read' : 'admin'
}

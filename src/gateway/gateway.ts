import type { ServerOptions } from 'node:https'
import Fastify, {
  type FastifyContextConfig,
  type FastifyInstance,
  type FastifyRequest,
  type FastifySchema,
  type FastifyServerOptions,
} from 'fastify'
import type { Clock } from '../core/clock.ts'
import { collectWhenIdle } from '../core/lifetime/idle-collection.ts'
import { tracer } from '../core/tracing/tracer.ts'
import type { AuditSink } from '../http/access/audit.ts'
import { bearerTokenOf } from '../http/access/bearer.ts'
import { ByteBudget, type ByteBudgetLimits } from '../http/access/byte-budget.ts'
import type { AccessControl } from '../http/access/control.ts'
import type { TrustedProxies } from '../http/access/trusted-proxies.ts'
import { type AddedRoute, addAudit } from '../http/audit.ts'
import { clientAddressOf } from '../http/client-address.ts'
import { ConnectionShare, HANDSHAKE_TIMES, REQUEST_TIMES } from '../http/connection-share.ts'
import { addSecurityHeaders } from '../http/security-headers.ts'
import { refuseUnknownFields } from '../http/unknown-fields.ts'
import { VALIDATION } from '../http/validation.ts'
import { addApplicationRoutes } from './application/routes.ts'
import { addHotRoutes } from './hot/routes.ts'
import { addAuthorization } from './http/authorization.ts'
import { addBodyParsers } from './http/bodies.ts'
import { addDeadlines } from './http/deadline.ts'
import { addErrorHandlers, EARLY_ERRORS } from './http/error-handlers.ts'
import { addDocumentRoute, addOpenApi } from './http/openapi.ts'
import { addOrigins, type OriginOptions } from './http/origins.ts'
import { DEADLINE_HEADER } from './http/query-options.ts'
import { withSessions } from './http/session.ts'
import { addTracing } from './http/tracing.ts'
import { addUnknownPathHandler } from './http/unknown-paths.ts'
import { InferenceAnswers } from './inference/answers.ts'
import { JSON_LENGTH_HEADER } from './inference/message.ts'
import { ModelRepository } from './inference/repository.ts'
import { addInferenceRoutes } from './inference/routes.ts'
import { InferenceStatistics } from './inference/statistics.ts'
import { RequestMetrics } from './metrics/request-metrics.ts'
import { addMetricsRoutes } from './metrics/routes.ts'
import type { SiblingGroup } from './metrics/sibling-threads.ts'
import { addModelRoutes } from './models/routes.ts'
import { WITHOUT_REGISTRY } from './models/without-registry.ts'
import { PartsAnswers } from './parts/answers.ts'
import { addGenerateRoutes } from './parts/generate-routes.ts'
import { addOpenAiRoutes } from './parts/openai-routes.ts'
import type { GatewayServices } from './port/services.ts'
import { recommenderOf } from './recommender/recommender.ts'
import { addRecommenderRoutes } from './recommender/routes.ts'
import { addHealthRoutes } from './routes/health.ts'
import { addObserveRoute } from './routes/observe.ts'
import { addObserveDecisionRoute } from './routes/observe-decision.ts'
import { addPredictRoutes } from './routes/predict.ts'
import { addStateRoutes } from './routes/states.ts'

/** Options of a gateway. */
export interface GatewayOptions extends OriginOptions {
  /** @default false */
  readonly logger?: FastifyServerOptions['logger']
  /** Largest body in bytes, of routes without a limit of their own. @default 1 MiB */
  readonly bodyLimit?: number
  /** Milliseconds in which a client must send a whole request. @default 10,000 */
  readonly requestTimeoutMs?: number
  /** Open connections, half of them of one address; beyond it the oldest silent one gives way. @default 4,096 */
  readonly maxConnections?: number
  /** Bytes of bodies that are not answered yet. @default 256 MiB divided among the threads, 96 MiB of one token, or of one address without tokens */
  readonly bodies?: ByteBudgetLimits
  /** Version in the OpenAPI document. */
  readonly version: string
  readonly clock: Clock
  /** Threads of the same port, whose metrics are added up. @default the gateway has one thread */
  readonly siblings?: SiblingGroup | undefined
  /** Compilers of the routes' schemas, which gateways of one process may share. @default own ones, with `buildValidator` */
  readonly compilers?: NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']
  /** Whether hot requests are answered without node:http where they can be. @default true */
  readonly isHot?: boolean
  /** Decides which requests may run. @default all may */
  readonly access?: AccessControl
  /** Proxies before the gateway, which name its clients. @default none */
  readonly proxies?: TrustedProxies
  /** Takes an entry for each change that a client asks for. @default none is kept */
  readonly audit?: AuditSink
  /** Certificate and key (PEM) of HTTPS; with `ca` clients need a certificate, too. @default plain HTTP */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string }
}

/** Log levels at which every request is logged. */
const LEVELS_OF_REQUESTS: ReadonlySet<string> = new Set(['info', 'debug', 'trace'])

const DEFAULT_BODY_LIMIT = 1024 * 1024
const DEFAULT_REQUEST_TIMEOUT_MS = 10_000
const DEFAULT_MAX_CONNECTIONS = 4096
const MIB = 1024 * 1024
const BODIES: ByteBudgetLimits = { most: 256 * MIB, mostPerClient: 96 * MIB }

/** The part of a thread in the memory for bodies of its process: at least what one client may have. */
function bodiesOf(threads: number): ByteBudgetLimits {
  return { ...BODIES, most: Math.max(BODIES.mostPerClient, BODIES.most / threads) }
}
/** A path segment is at most an id of 1,024 characters, each of up to nine characters when escaped. */
const MAX_PATH_SEGMENT = 9 * 1024

/** What the ports of a gateway share: models, their answers, memory, and what is counted. */
export interface GatewayParts {
  /** Memory for bodies and messages that are not answered yet. */
  readonly budget: ByteBudget
  readonly requests: RequestMetrics
  readonly inference: InferenceStatistics
  readonly repository: ModelRepository
  readonly answers: InferenceAnswers
  readonly parts: PartsAnswers
}

/** The parts of a gateway. `bodies`: of its memory. */
export function gatewayParts(
  { state }: GatewayServices,
  clock: Clock,
  bodies: ByteBudgetLimits = BODIES,
): GatewayParts {
  const inference = new InferenceStatistics()
  const repository = new ModelRepository(state)
  const context = { repository, statistics: inference, clock }
  const answers = new InferenceAnswers(context)
  const parts = new PartsAnswers(context)
  const budget = new ByteBudget(bodies)
  return { budget, requests: new RequestMetrics(), inference, repository, answers, parts }
}

/**
 * The HTTP server in front of a running job: predictions, observations, state reads. It keeps no state;
 * any number of gateways serve one job. Not listening yet: call `listen`.
 */
export async function createGateway(
  served: GatewayServices,
  options: GatewayOptions,
  given?: GatewayParts,
): Promise<FastifyInstance> {
  const services: GatewayServices = { ...served, state: withSessions(served.state, options.clock) }
  const bodies = options.bodies ?? bodiesOf(options.siblings?.threads ?? 1)
  const { budget, requests, inference, repository, answers, parts } =
    given ?? gatewayParts(services, options.clock, bodies)
  const app: FastifyInstance = Fastify({
    ...(options.tls === undefined
      ? { http: REQUEST_TIMES }
      : { https: { ...httpsOf(options.tls), ...REQUEST_TIMES, ...HANDSHAKE_TIMES } }),
    logger: options.logger ?? false,
    bodyLimit: options.bodyLimit ?? DEFAULT_BODY_LIMIT,
    requestTimeout: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PATH_SEGMENT },
    ...VALIDATION,
    ...EARLY_ERRORS,
    ...(options.compilers === undefined
      ? {}
      : { schemaController: { compilersFactory: options.compilers } }),
  })
  const most = options.maxConnections ?? DEFAULT_MAX_CONNECTIONS
  const { proxies } = options
  const connections = new ConnectionShare({ most, proxies }, options.clock)
  if (tracer !== undefined) addTracing(app, tracer)
  requests.addTo(app)
  const recommender = recommenderOf(services)
  addDeadlines(app, options.clock)
  addSecurityHeaders(app, options.tls !== undefined)
  addOrigins(app, options, [JSON_LENGTH_HEADER])
  if (options.access !== undefined) addAuthorization(app, options.access)
  addErrorHandlers(app)
  addUnknownPathHandler(app)
  refuseUnknownFields(app, schemaOf, [DEADLINE_HEADER])
  addBodyParsers(app, {
    budget,
    clientOf: (request) =>
      (options.access && request.headers.authorization) ?? clientAddressOf(request),
    turns: connections.turns,
    charge: ({ headers }, requests) =>
      options.access?.charge(bearerTokenOf(headers.authorization), requests),
  })
  await addOpenApi(app, { version: options.version, needsToken: options.access !== undefined })
  if (options.audit !== undefined) addAudit(app, options.audit, changeOf)
  await app.register(async (routes) => {
    addHealthRoutes(routes, services)
    addPredictRoutes(routes, services.state)
    addStateRoutes(routes, services.state)
    addInferenceRoutes(routes, {
      state: services.state,
      repository,
      answers,
      statistics: inference,
      version: options.version,
      modelControl: services.modelControl,
    })
    addObserveDecisionRoute(routes, services.state)
    addGenerateRoutes(routes, parts)
    addOpenAiRoutes(routes, { repository, parts })
    addRecommenderRoutes(routes, services, recommender)
    if (services.observations !== undefined) {
      addObserveRoute(routes, services.observations, services.state)
    }
    if (services.application !== undefined) {
      addApplicationRoutes(routes, services.application, services.state)
    }
    addModelRoutes(routes, services.models ?? WITHOUT_REGISTRY)
    addMetricsRoutes(routes, {
      requests,
      inference,
      state: services.state,
      version: options.version,
      siblings: options.siblings,
    })
    addDocumentRoute(routes)
  })
  if (mayBeHot(app, options)) {
    addHotRoutes(app, {
      // A request of a session is not a hot one.
      state: served.state,
      observations: services.observations,
      turns: connections.turns,
      answers,
      recommender,
      requests,
      requested: connections.hasRequested,
      ...options,
    })
  }
  connections.attach(app.server)
  const stopCollecting = collectWhenIdle()
  app.addHook('preClose', async () => parts.end())
  app.addHook('onClose', async () => {
    connections[Symbol.dispose]()
    stopCollecting()
  })
  return app
}

/** The schema of a request's route, with what the route keeps for the document alone; undefined for a page. */
function schemaOf({ routeOptions }: FastifyRequest): FastifySchema | undefined {
  const { schema, config } = routeOptions
  return schema?.hide === true ? undefined : { ...schema, ...config.document?.schema }
}

/** The word of the audit for a route that changes models. */
function changeOf({ config }: AddedRoute): string | undefined {
  return (config as FastifyContextConfig | undefined)?.change
}

/**
 * Whether connections may answer hot requests themselves. A log of every request, and spans, are made by
 * hooks of Fastify, and cost more than hot requests save.
 */
function mayBeHot(app: FastifyInstance, { tls, isHot = true }: GatewayOptions): boolean {
  return (
    isHot && tls === undefined && tracer === undefined && !LEVELS_OF_REQUESTS.has(app.log.level)
  )
}

function httpsOf({ cert, key, ca }: NonNullable<GatewayOptions['tls']>): ServerOptions {
  return ca === undefined
    ? { cert, key }
    : { cert, key, ca, requestCert: true, rejectUnauthorized: true }
}

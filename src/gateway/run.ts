import type { ClientOptions } from '../client/options.ts'
import { WeirClient } from '../client/weir-client.ts'
import { openTopics } from '../connectors/topics/open.ts'
import type { TopicsPlace } from '../connectors/topics/place.ts'
import { systemClock } from '../core/clock.ts'
import { ResourceStack } from '../core/lifetime/resource-stack.ts'
import { tracingEnvironment } from '../core/tracing/environment.ts'
import { startTracing, tracer } from '../core/tracing/tracer.ts'
import { nodeFileSystem } from '../files/node-file-system.ts'
import { AllowedHosts } from '../http/access/allowed-hosts.ts'
import { auditTrail } from '../http/access/audit.ts'
import type { AccessControl, AccessShare } from '../http/access/control.ts'
import { isLoopback } from '../http/access/listener.ts'
import type { ModelControlRights } from '../http/access/model-control.ts'
import { httpAccess } from '../http/access/people/http-access.ts'
import { FolderRegistry } from '../inference/repository/register.ts'
import { MAX_FRAME_BYTES } from '../wire/frame.ts'
import type { RoutingTable } from '../wire/routing-table.ts'

import { loadRoutes } from './application/load.ts'
import { createGateway, type GatewayOptions } from './gateway.ts'
import { type LogLevel, loggerOf } from './http/logging.ts'
import { OBSERVATIONS_SOURCE } from './http/session.ts'
import { listenOn } from './listen.ts'
import type { SiblingGroup } from './metrics/sibling-threads.ts'
import { type ModelPlace, RegistryModelControl } from './models/control.ts'
import { TopicAppender } from './observations/topic-appender.ts'
import type { GatewayServices } from './port/services.ts'
import { loadRescorer } from './recommender/rescorer.ts'

/** Settings of one running gateway, as plain data that can be sent to a thread. */
export interface GatewaySettings {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** The job whose state is served. */
  readonly job: Pick<ClientOptions, 'host' | 'port' | 'token' | 'tls'>
  /** The job that keeps the histories of users. @default `job`, if it has them */
  readonly histories?: GatewaySettings['job']
  /** Who may use the gateway. */
  readonly access: AccessShare
  /** As of `OriginOptions`. */
  readonly allowedOrigins?: readonly string[]
  /** Certificate and key (PEM) of HTTPS. @default plain HTTP */
  readonly tls?: NonNullable<GatewayOptions['tls']>
  /** Module whose default export gives the items of lists other values; an absolute path. @default none */
  readonly rescorer?: string
  /** Module whose default export has the paths of an application; an absolute path. @default none */
  readonly routes?: string
  /** The topic that takes observations; without it the gateway takes none. */
  readonly observations?: { readonly place: TopicsPlace; readonly topic: string }
  /** The model whose versions the gateway lists and switches. @default none */
  readonly models?: ModelPlace
  /** Whether and how clients may change models. @default they may not */
  readonly modelControl?: Omit<ModelControlRights, 'hosts'> & {
    /** As of `AllowedHosts`. */
    readonly hosts: readonly string[]
    /** Folder of models that `/register` adds to; without it the gateway takes none. */
    readonly repository?: string
  }
  /** File that takes the audit of changes, besides standard error. @default none */
  readonly auditFile?: string
  /** Version in the OpenAPI document. */
  readonly version: string
  /** Other listeners, of threads or processes, share the port. */
  readonly sharesPort: boolean
  /** The threads that share the port, if they are threads of one process. */
  readonly siblings?: SiblingGroup
  /** @default 'warn' */
  readonly logLevel?: LogLevel
}

/** A gateway that listens. */
export class RunningGateway implements AsyncDisposable {
  readonly port: number
  private readonly access: AccessControl
  private readonly resources: ResourceStack

  private constructor(port: number, access: AccessControl, resources: ResourceStack) {
    this.port = port
    this.access = access
    this.resources = resources
  }

  /**
   * Connects to the job and listens. Rejects with UNAVAILABLE or UNAUTHENTICATED when the job does not
   * take the connection, UNKNOWN_TOPIC, INVALID_ARGUMENT for a rescorer or routes that are none, and CONNECTOR_FAILED when the port is
   * taken.
   */
  static async start(settings: GatewaySettings): Promise<RunningGateway> {
    startTracing(tracingEnvironment())
    await using started = new ResourceStack()
    started.defer(async () => await tracer?.flush())
    const { rescorer, routes } = settings
    const application = routes === undefined ? {} : { application: await loadRoutes(routes) }
    const rescoring = rescorer === undefined ? {} : { rescorer: await loadRescorer(rescorer) }
    const state = started.use(
      await WeirClient.connect({
        ...settings.job,
        client: 'weir-gateway',
        maxFrameBytes: MAX_FRAME_BYTES,
      }),
    )
    const histories = await historiesOf(settings, started)
    const observations = await appenderOf(settings, started)
    const access = httpAccess(settings.access, systemClock)
    const { logLevel: level = 'warn', siblings } = settings
    const logger = loggerOf({ level, thread: siblings?.thread ?? 0 })
    const app = await createGateway(
      {
        state,
        ...rescoring,
        ...application,
        ...(histories === undefined ? {} : { histories }),
        ...(observations === undefined ? {} : { observations }),
        ...(settings.models === undefined
          ? {}
          : { models: new RegistryModelControl(settings.models) }),
        ...modelControlOf(settings),
      },
      {
        version: settings.version,
        clock: systemClock,
        // Without tokens every request may run: none is checked, and OpenAPI names no token.
        ...(settings.access.needsToken ? { access } : {}),
        proxies: access.proxies,
        audit: auditTrail({
          write: (line) => {
            if (level !== 'silent') process.stderr.write(`${line}\n`)
          },
          isJson: true,
          file: settings.auditFile,
          clock: systemClock,
        }),
        allowedOrigins: settings.allowedOrigins,
        onlyLoopbackNames: isLoopback(settings.host) && !settings.access.needsToken,
        siblings,
        ...(logger === undefined ? {} : { logger }),
        ...(settings.tls === undefined ? {} : { tls: settings.tls }),
      },
    )
    started.defer(() => app.close())
    const port = await listenOn(app, settings)
    const otherTopic = observations && readsOtherTopic(state.routing, observations.topic)
    if (otherTopic !== undefined && (siblings?.thread ?? 0) === 0) app.log.warn(otherTopic)
    return new RunningGateway(port, access, started.move())
  }

  /** Uses other tokens from now on. */
  replaceAccess(access: AccessShare): void {
    this.access.replace(access)
  }

  /** Answers the requests that are under way, then stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources[Symbol.asyncDispose]()
  }
}

function modelControlOf({ modelControl }: GatewaySettings): Pick<GatewayServices, 'modelControl'> {
  if (modelControl?.isAllowed !== true) return {}
  const { repository } = modelControl
  if (repository === undefined) return { modelControl: {} }
  const rights = { ...modelControl, hosts: new AllowedHosts(modelControl.hosts) }
  return { modelControl: { registry: new FolderRegistry(nodeFileSystem, repository, rights) } }
}

/** What a job that reads another topic than the one of observations means for clients; undefined where it reads that one. */
function readsOtherTopic(routing: RoutingTable, topic: string): string | undefined {
  const read = routing.sources.find((source) => source.uid === OBSERVATIONS_SOURCE)?.topic
  if (read === undefined || read === topic) return undefined
  return `observations go to the topic "${topic}", and the job "${routing.job}" reads "${read}": answers to them have no Weir-Session, because no read of the job can wait for them`
}

async function historiesOf(
  { histories }: GatewaySettings,
  resources: ResourceStack,
): Promise<WeirClient | undefined> {
  if (histories === undefined) return undefined
  return resources.use(await WeirClient.connect({ ...histories, client: 'weir-gateway' }))
}

async function appenderOf(
  { observations }: GatewaySettings,
  resources: ResourceStack,
): Promise<TopicAppender | undefined> {
  if (observations === undefined) return undefined
  const topics = resources.use(await openTopics(observations.place))
  const appender = resources.use(new TopicAppender(topics, observations.topic, systemClock))
  await appender.open()
  return appender
}

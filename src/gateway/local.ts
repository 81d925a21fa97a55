import { systemClock } from '../core/clock.ts'
import { ResourceStack } from '../core/lifetime/resource-stack.ts'
import { nodeFileSystem } from '../files/node-file-system.ts'
import type { AccessControl } from '../http/access/control.ts'
import { isLoopback } from '../http/access/listener.ts'
import type { ModelControlRights } from '../http/access/model-control.ts'
import { FolderRegistry } from '../inference/repository/register.ts'
import { createGateway, type GatewayOptions, gatewayParts } from './gateway.ts'
import { loggerOf } from './http/logging.ts'
import { listenOn } from './listen.ts'
import type { GatewayServices, ServedState } from './port/services.ts'

/** Settings of a gateway in the process whose state it serves. */
export interface LocalGatewaySettings {
  readonly state: ServedState
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Folder of models that `/register` adds to. */
  readonly repository: string
  /** What clients may change in the models. @default nothing */
  readonly modelControl?: ModelControlRights
  readonly access: AccessControl
  /** As of `OriginOptions`. */
  readonly allowedOrigins?: readonly string[]
  /** Certificate and key (PEM) of HTTPS. @default plain HTTP */
  readonly tls?: NonNullable<GatewayOptions['tls']>
  /** Version in the OpenAPI document. */
  readonly version: string
  /** Opens a port of gRPC, too, with the same tokens and TLS. @default none */
  readonly grpc?: { readonly host: string; readonly port: number }
}

/** A gateway on the thread that has the state: a request takes no other process on its way. */
export class LocalGateway implements AsyncDisposable {
  readonly port: number
  /** Port of gRPC; undefined without one. */
  readonly grpcPort: number | undefined
  private readonly resources: ResourceStack

  private constructor(port: number, grpcPort: number | undefined, resources: ResourceStack) {
    this.port = port
    this.grpcPort = grpcPort
    this.resources = resources
  }

  /** Listens. Rejects with CONNECTOR_FAILED when the port is taken. */
  static async start(settings: LocalGatewaySettings): Promise<LocalGateway> {
    const { state, repository, access, tls, version, modelControl } = settings
    const logger = loggerOf({ level: 'warn', thread: 0 })
    await using started = new ResourceStack()
    const services: GatewayServices = {
      state,
      ...(modelControl?.isAllowed === true
        ? {
            modelControl: {
              registry: new FolderRegistry(nodeFileSystem, repository, modelControl),
            },
          }
        : {}),
    }
    // Without tokens every request may run: none is checked, and OpenAPI names no token.
    const checked = access.needsToken ? access : undefined
    const parts = gatewayParts(services, systemClock)
    const app = await createGateway(
      services,
      {
        version,
        clock: systemClock,
        ...(checked === undefined ? {} : { access: checked }),
        audit: access.audit,
        proxies: access.proxies,
        allowedOrigins: settings.allowedOrigins,
        onlyLoopbackNames: isLoopback(settings.host) && !access.needsToken,
        ...(logger === undefined ? {} : { logger }),
        ...(tls === undefined ? {} : { tls }),
      },
      parts,
    )
    started.defer(async () => await app.close())
    const port = await listenOn(app, { ...settings, sharesPort: false })
    if (settings.grpc === undefined) return new LocalGateway(port, undefined, started.move())
    const { GrpcServer } = await import('./grpc/server.ts')
    const { audit } = access
    const context = { ...parts, services, access: checked, audit, version, clock: systemClock }
    const place = { ...settings.grpc, ...(tls === undefined ? {} : { tls }) }
    const grpc = started.use(await GrpcServer.start(context, place))
    return new LocalGateway(port, grpc.port, started.move())
  }

  /** Answers the requests that are under way, then stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources[Symbol.asyncDispose]()
  }
}

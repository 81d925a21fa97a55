import type { AccessControl } from '../access/control.ts'
import { isLoopback } from '../access/listener.ts'
import type { ModelControlRights } from '../access/model-control.ts'
import { systemClock } from '../core/clock.ts'
import { nodeFileSystem } from '../files/node-file-system.ts'
import { FolderRegistry } from '../inference/repository/register.ts'
import { createGateway, type GatewayOptions } from './gateway.ts'
import { loggerOf } from './http/logging.ts'
import { listenOn } from './listen.ts'
import type { ServedState } from './port/services.ts'

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
  /** Certificate and key (PEM) of HTTPS. @default plain HTTP */
  readonly tls?: NonNullable<GatewayOptions['tls']>
  /** Version in the OpenAPI document. */
  readonly version: string
}

/** A gateway on the thread that has the state: a request takes no other process on its way. */
export class LocalGateway implements AsyncDisposable {
  readonly port: number
  private readonly close: () => Promise<void>

  private constructor(port: number, close: () => Promise<void>) {
    this.port = port
    this.close = close
  }

  /** Listens. Rejects with CONNECTOR_FAILED when the port is taken. */
  static async start(settings: LocalGatewaySettings): Promise<LocalGateway> {
    const { state, repository, access, tls, version, modelControl } = settings
    const logger = loggerOf({ level: 'warn', thread: 0 })
    const app = await createGateway(
      {
        state,
        ...(modelControl?.isAllowed === true
          ? {
              modelControl: {
                registry: new FolderRegistry(nodeFileSystem, repository, modelControl),
              },
            }
          : {}),
      },
      {
        version,
        clock: systemClock,
        // Without tokens every request may run: none is checked, and OpenAPI names no token.
        ...(access.needsToken ? { access } : {}),
        audit: access.audit,
        onlyLoopbackNames: isLoopback(settings.host) && !access.needsToken,
        ...(logger === undefined ? {} : { logger }),
        ...(tls === undefined ? {} : { tls }),
      },
    )
    const port = await listenOn(app, { ...settings, sharesPort: false })
    return new LocalGateway(port, async () => await app.close())
  }

  /** Answers the requests that are under way, then stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

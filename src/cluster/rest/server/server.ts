import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { sleep } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { collectWhenIdle } from '../../../core/lifetime/idle-collection.ts'
import type { PortRange } from '../../../core/port-range.ts'
import { isLoopback } from '../../../http/access/listener.ts'
import { createServer } from '../../../http/builtin.ts'
import { type RefusalBody, refuseClient } from '../../../http/client-errors.ts'
import { ConnectionShare, HANDSHAKE_TIMES, REQUEST_TIMES } from '../../../http/connection-share.ts'
import { JobHistories } from '../live/job-histories.ts'
import { AsyncOperations } from '../routes/async-operations.ts'
import type { RestAppOptions } from './app.ts'
import { LocalPort } from './local-port.ts'

/** Options of the REST server. */
export interface RestServerOptions
  extends Omit<RestAppOptions, 'operations' | 'histories' | 'isLoopback' | 'hasTls'> {
  readonly host: string
  /** Ports to try, in order; port 0 is any free one. @default 8081 to 8180 */
  readonly ports: PortRange | undefined
  /** Certificate and key (PEM) of a port that encrypts; with `ca` clients must show a certificate. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string } | undefined
}

/** Flink's port, and the ports after it for further processes of the machine. */
const DEFAULT_PORTS: PortRange = { first: 8081, last: 8180 }
/** Connections at a time: those of dashboards, commands and monitoring. */
const MOST_CONNECTIONS = 256
/** Time in which clients can ask for results after the job has ended. */
const LAST_RESULTS_MS = 10_000

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Opens the REST port. Its code is loaded at the first request, so that a job whose port no one uses pays
 * nothing. Throws CONNECTOR_FAILED when all ports are taken.
 */
export class RestServer implements AsyncDisposable {
  private readonly server: Server
  private readonly options: RestServerOptions
  private readonly operations: AsyncOperations
  private readonly histories: JobHistories
  private readonly connections: ConnectionShare
  private local: LocalPort | undefined
  private stopCollecting: () => void = () => {}
  private app: Promise<{ readonly handle: Handler; close(): Promise<unknown> }> | undefined

  private constructor(options: RestServerOptions) {
    this.options = options
    this.operations = new AsyncOperations(options.clock)
    const { cluster } = options
    // Each process would ask all others for each sample.
    const jobs = () => cluster.ownJobs?.() ?? cluster.jobs()
    this.histories = new JobHistories({ jobs }, options.clock)
    this.server = serverOf(options)
    const { proxies } = options.access
    this.connections = new ConnectionShare({ most: MOST_CONNECTIONS, proxies }, options.clock)
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuseClient(error, socket, refusalBody),
    )
    this.server.on('request', (request, response) => void this.handle(request, response))
    this.connections.attach(this.server)
  }

  static async start(options: RestServerOptions): Promise<RestServer> {
    const rest = new RestServer(options)
    await rest.listen()
    rest.histories.start()
    rest.stopCollecting = collectWhenIdle()
    const { host, tls } = options
    // A port that demands client certificates has no way in without one.
    if (tls?.ca === undefined) {
      const place = { host, port: rest.port, hasTls: tls !== undefined }
      rest.local = await LocalPort.open(place, (request, response) => {
        void rest.handle(request, response)
      })
    }
    return rest
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** `http://127.0.0.1:8081` */
  get url(): string {
    const { host, tls } = this.options
    return `http${tls === undefined ? '' : 's'}://${host.includes(':') ? `[${host}]` : host}:${this.port}`
  }

  /**
   * Closes the port. A client that triggered a savepoint may still ask for its result: the port stays
   * open for it for some seconds.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.histories[Symbol.dispose]()
    this.stopCollecting()
    const { clock } = this.options
    const lastMs = clock.monotonicMs() + LAST_RESULTS_MS
    while (this.operations.hasUnreported && clock.monotonicMs() < lastMs) await sleep(clock, 50)
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.server.closeAllConnections()
    this.local?.[Symbol.dispose]()
    this.connections[Symbol.dispose]()
    await closed
    await (await this.app)?.close()
  }

  private async listen(): Promise<void> {
    const { host, ports } = this.options
    const { first, last } = ports ?? DEFAULT_PORTS
    for (let port = first; port <= last; port++) {
      if (await tryListen(this.server, port, host)) return
    }
    throw new WeirError(
      'CONNECTOR_FAILED',
      first === last
        ? `port ${first} of ${host} is taken; set rest.port or rest.bind-port to another one`
        : `the ports ${first} to ${last} of ${host} are all taken; set rest.bind-port to others`,
    )
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.app ??= this.load()
    try {
      ;(await this.app).handle(request, response)
    } catch {
      response.writeHead(500).end()
    }
  }

  private async load() {
    const { createRestApp } = await import('./app.ts')
    const { host, tls } = this.options
    const app = await createRestApp({
      ...this.options,
      operations: this.operations,
      histories: this.histories,
      isLoopback: isLoopback(host),
      hasTls: tls !== undefined,
    })
    const handle: Handler = (request, response) => app.routing(request, response)
    return { handle, close: () => app.close() }
  }
}

/** The body of an answer to bytes that are no request. */
function refusalBody(_status: number, detail: string): RefusalBody {
  return { type: 'application/json', text: JSON.stringify({ errors: [detail] }) }
}

function serverOf({ tls }: RestServerOptions): Server {
  if (tls === undefined) return createServer(REQUEST_TIMES)
  const times = { ...REQUEST_TIMES, ...HANDSHAKE_TIMES }
  return createTlsServer({ ...times, ...tls, requestCert: tls.ca !== undefined })
}

/** Whether the port could be opened; false if it is taken. Throws any other error. */
function tryListen(server: Server, port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      server.off('listening', onListening)
      if (error.code === 'EADDRINUSE') resolve(false)
      else
        reject(
          new WeirError('CONNECTOR_FAILED', `cannot listen on ${host}:${port}: ${error.message}`, {
            cause: error,
          }),
        )
    }
    const onListening = (): void => {
      server.off('error', onError)
      resolve(true)
    }
    server.once('error', onError)
    server.once('listening', onListening)
    server.listen(port, host)
  })
}

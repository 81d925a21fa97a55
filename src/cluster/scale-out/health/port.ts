import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../core/clock.ts'
import { messageOf, WeirError } from '../../../core/errors.ts'
import { createServer } from '../../../http/builtin.ts'
import { refuseClient } from '../../../http/client-errors.ts'
import { ConnectionShare, REQUEST_TIMES } from '../../../http/connection-share.ts'
import { SECURITY_FIELDS_BY_NAME } from '../../../http/security-headers.ts'
import type { Probes } from './probes.ts'

/** Connections at a time: those of a supervisor, and of who looks. */
const MOST_CONNECTIONS = 64

/** Where the port listens, and what it answers. */
export interface HealthPortOptions {
  readonly host: string
  /** 0 is any free one. */
  readonly port: number
  readonly probes: Probes
  readonly clock: Clock
}

/**
 * The port on which a supervisor asks whether a process lives, has started and is ready: `/health/live`, `/health/startup`
 * and `/health/ready`. It reads nothing else, and its answers have no addresses and no data, so it needs no token.
 */
export class HealthPort implements AsyncDisposable {
  private readonly server: Server
  private readonly connections: ConnectionShare
  private readonly probes: Probes

  private constructor({ probes, clock }: HealthPortOptions) {
    this.probes = probes
    this.server = createServer(REQUEST_TIMES, (request, response) => this.handle(request, response))
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuseClient(error, socket, (_status, detail) => ({ type: JSON_TYPE, text: errors(detail) })),
    )
    this.connections = new ConnectionShare({ most: MOST_CONNECTIONS }, clock)
    this.connections.attach(this.server)
  }

  /** Opens the port. Rejects with CONNECTOR_FAILED where it cannot be opened. */
  static async open(options: HealthPortOptions): Promise<HealthPort> {
    const opened = new HealthPort(options)
    const { host, port } = options
    try {
      opened.server.listen(port, host)
      await once(opened.server, 'listening')
    } catch (cause) {
      const message = `cannot listen on ${host}:${port} for --health: ${messageOf(cause)}; name another port`
      throw new WeirError('CONNECTOR_FAILED', message, { cause })
    }
    return opened
  }

  get port(): number {
    // A server that listens on a port has an address with one.
    return (this.server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close')
    this.server.close()
    this.server.closeAllConnections()
    this.connections[Symbol.dispose]()
    await closed
  }

  private handle({ method, url = '' }: IncomingMessage, response: ServerResponse): void {
    const path = url.split('?', 1)[0]!.replace(/^\/v1(?=\/)/, '')
    const answer = this.probes.answer(path)
    if (answer === undefined) {
      const known = '/health/live, /health/ready and /health/startup'
      send(response, 404, errors(`there is no ${path}; this port answers ${known}`))
    } else if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      send(response, 405, errors(`${path} answers GET and HEAD`))
    } else send(response, answer.status, JSON.stringify(answer.body))
  }
}

const JSON_TYPE = 'application/json'

const errors = (text: string): string => JSON.stringify({ errors: [text] })

function send(response: ServerResponse, status: number, text: string): void {
  const length = Buffer.byteLength(text)
  const fields = {
    'content-type': JSON_TYPE,
    'content-length': length,
    'cache-control': 'no-store',
  }
  response.writeHead(status, { ...SECURITY_FIELDS_BY_NAME, ...fields }).end(text)
}

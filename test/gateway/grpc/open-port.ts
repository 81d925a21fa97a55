import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { gatewayParts } from '../../../src/gateway/gateway.ts'
import { SERVICE } from '../../../src/gateway/grpc/schema.ts'
import { GrpcServer } from '../../../src/gateway/grpc/server.ts'
import type { GatewayServices } from '../../../src/gateway/port/services.ts'
import type { AuditSink } from '../../../src/http/access/audit.ts'
import type { ByteBudget } from '../../../src/http/access/byte-budget.ts'
import type { AccessControl } from '../../../src/http/access/control.ts'
import { GatewayWorld } from '../world.ts'

/** A port of gRPC over the rows of a `GatewayWorld`. */
export interface OpenPort {
  readonly access?: AccessControl
  readonly audit?: AuditSink
  readonly services?: Partial<GatewayServices>
  readonly budget?: ByteBudget
  readonly clock?: Clock
}

export async function openPort({
  access,
  audit = () => {},
  services = {},
  budget,
  clock = systemClock,
}: OpenPort = {}): Promise<GrpcServer> {
  const served = new GatewayWorld().services(services)
  const parts = gatewayParts(served, clock)
  const context = { ...parts, ...(budget === undefined ? {} : { budget }), services: served }
  const asked = { access, audit, clock, version: '1.2.3' }
  return await GrpcServer.start({ ...context, ...asked }, { host: '127.0.0.1', port: 0 })
}

/** How a call ended. */
export interface CallResult {
  readonly status: number
  readonly message: string
  readonly code: string
  /** Answers, the bytes of each. */
  readonly answers: readonly Buffer[]
}

/** A client that sends what it is told to. */
export class RawClient implements Disposable {
  readonly session: ClientHttp2Session

  constructor(port: number) {
    this.session = connect(`http://127.0.0.1:${port}`)
    this.session.on('error', () => {})
  }

  /** Opens a call and leaves it open; `ended` is how it ends. */
  open(name: string, headers: Record<string, string> = {}) {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': `/${SERVICE}/${name}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
    return { stream, ended: endOf(stream) }
  }

  /** Sends bytes as one whole call. */
  async call(
    name: string,
    bytes: Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<CallResult> {
    const { stream, ended } = this.open(name, headers)
    stream.end(bytes)
    return await ended
  }

  [Symbol.dispose](): void {
    this.session.destroy()
  }
}

function endOf(stream: ReturnType<ClientHttp2Session['request']>): Promise<CallResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let fields: IncomingHttpHeaders = {}
    const note = (more: IncomingHttpHeaders): void => {
      fields = { ...fields, ...more }
    }
    stream.on('response', note)
    stream.on('trailers', note)
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', () => {})
    stream.on('close', () => {
      resolve({
        status: Number(fields['grpc-status'] ?? Number.NaN),
        message: decodeURIComponent(String(fields['grpc-message'] ?? '')),
        code: String(fields['weir-code'] ?? ''),
        answers: messagesOf(Buffer.concat(chunks)),
      })
    })
  })
}

function messagesOf(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    messages.push(bytes.subarray(at + 5, end))
    at = end
  }
  return messages
}

import { Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { asWeirError } from '../../core/errors.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { PartsAnswers } from '../parts/answers.ts'
import { GrpcCalls, type GrpcContext } from './calls.ts'
import { SCHEMA, SERVICE } from './schema.ts'

/** Where a gRPC port listens. */
export interface GrpcPlace {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Certificate and key (PEM). @default plain text */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string }
}

/** Calls of one connection that are under way. */
const MOST_CALLS = 1024
/** Time after which a connection that says nothing is asked whether its client is still there, ms. */
const KEEPALIVE_MS = 60_000
/** Longest wait for calls that are under way at the end, ms. */
const END_MS = 5000

/** Options of the decoder: numbers of 64 bits are digits, and fields that were not sent have their defaults. */
const DECODING = { longs: String, defaults: true, oneofs: true, arrays: true, objects: true }

/** The Open Inference Protocol over gRPC. */
export class GrpcServer implements AsyncDisposable {
  readonly port: number
  private readonly server: Server
  private readonly parts: PartsAnswers

  private constructor(port: number, server: Server, parts: PartsAnswers) {
    this.port = port
    this.server = server
    this.parts = parts
  }

  /** Listens. Rejects with CONNECTOR_FAILED when the port is taken. */
  static async start(context: GrpcContext, place: GrpcPlace): Promise<GrpcServer> {
    const server = new Server({
      'grpc.max_receive_message_length': MAX_FRAME_BYTES,
      'grpc.max_send_message_length': -1,
      'grpc.max_concurrent_streams': MOST_CALLS,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
    })
    server.addService(serviceOf(), new GrpcCalls(context).handlers())
    const { host, port } = place
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, credentialsOf(place.tls), (error, found) => {
        if (error === null) resolve(found)
        else reject(asWeirError(error, 'CONNECTOR_FAILED', `gRPC cannot listen on ${address}`))
      })
    })
    return new GrpcServer(bound, server, context.parts)
  }

  /** Answers the calls that are under way, but for answers in parts, which may be as long as they like; then stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.parts.end()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.server.forceShutdown(), END_MS)
      this.server.tryShutdown(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

function serviceOf(): ServiceDefinition {
  return fromJSON(SCHEMA, DECODING)[SERVICE] as unknown as ServiceDefinition
}

function credentialsOf(tls: GrpcPlace['tls']): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  const pair = { cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) }
  const ca = tls.ca === undefined ? null : Buffer.from(tls.ca)
  return ServerCredentials.createSsl(ca, [pair], ca !== null)
}

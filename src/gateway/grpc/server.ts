import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerOptions,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { asWeirError } from '../../core/errors.ts'
import { ConnectionShare, HANDSHAKE_TIMES } from '../../http/connection-share.ts'
import type { PartsAnswers } from '../parts/answers.ts'
import type { Call } from './call.ts'
import { GrpcCalls, type GrpcContext } from './calls.ts'

/** Where a gRPC port listens. */
export interface GrpcPlace {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Certificate and key (PEM). @default plain text */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string }
}

/** Calls of one connection that are under way: a client keeps further ones to itself. */
const MOST_OF_CONNECTION = 128
/** Open connections, half of them of one address: a client has one, and many calls on it. */
const MOST_CONNECTIONS = 1024
/** Time after which the system asks whether the peer of a silent connection is still there, ms. */
const KEEPALIVE_MS = 60_000
/** Longest wait for calls that are under way at the end, ms. */
const END_MS = 5000

const OPTIONS: ServerOptions = {
  settings: {
    maxConcurrentStreams: MOST_OF_CONNECTION,
    enablePush: false,
    maxHeaderListSize: 16 * 1024,
  },
  // Answers that wait for their client count in it, so it has room for a large one.
  maxSessionMemory: 256,
  // Calls that a client opens and cancels at once cost the server more than the client. It may cancel all that it has, and
  // then so many a second; Node.js ends the connection of one that cancels more.
  streamResetBurst: MOST_OF_CONNECTION,
  streamResetRate: 64,
}

/**
 * The Open Inference Protocol over gRPC. It is HTTP/2 of Node.js, so that connections, memory, time and rights are
 * those of the HTTP ports (docs/decisions/inference-protocols.md#the-port-of-grpc).
 */
export class GrpcServer implements AsyncDisposable {
  readonly port: number
  private readonly server: Http2Server | Http2SecureServer
  private readonly sessions: ReadonlySet<ServerHttp2Session>
  private readonly share: ConnectionShare
  private readonly parts: PartsAnswers

  private constructor(
    server: Http2Server | Http2SecureServer,
    sessions: ReadonlySet<ServerHttp2Session>,
    share: ConnectionShare,
    parts: PartsAnswers,
  ) {
    this.port = (server.address() as AddressInfo).port
    this.server = server
    this.sessions = sessions
    this.share = share
    this.parts = parts
  }

  /** Listens. Rejects with CONNECTOR_FAILED when the port is taken. */
  static async start(context: GrpcContext, { host, port, tls }: GrpcPlace): Promise<GrpcServer> {
    const server = serverOf(tls)
    const sessions = new Set<ServerHttp2Session>()
    const share = new ConnectionShare({ most: MOST_CONNECTIONS }, context.clock)
    const calls = new GrpcCalls(context, share.turns)
    server.on('connection', (socket: Socket) => socket.setKeepAlive(true, KEEPALIVE_MS))
    server.on('session', (session: ServerHttp2Session) => {
      sessions.add(session)
      session.once('close', () => sessions.delete(session))
      session.on('error', () => session.destroy())
    })
    server.on('stream', (stream, headers) => {
      stream.on('error', () => {})
      const { session } = stream
      if (session === undefined) return
      let call: Call | undefined
      const received = {
        get complete(): boolean {
          return call?.complete ?? true
        },
      }
      stream.once('close', share.begin(session.socket, received))
      // A call that was canceled while it waited for the turn of its client costs nothing more.
      share.turns.run(session.socket.remoteAddress ?? '', 'small', () => {
        if (!stream.destroyed) call = calls.answer(stream, headers)
      })
    })
    share.attachConnections(server)
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        reject(asWeirError(error, 'CONNECTOR_FAILED', `gRPC cannot listen on ${host}:${port}`))
      })
      server.listen(port, host, resolve)
    })
    return new GrpcServer(server, sessions, share, context.parts)
  }

  /** Answers the calls that are under way, but for answers in parts, which may be as long as they like; then stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.parts.end()
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        for (const session of this.sessions) session.destroy()
      }, END_MS)
      this.server.close(() => {
        clearTimeout(timer)
        resolve()
      })
      for (const session of this.sessions) session.close()
    })
    this.share[Symbol.dispose]()
  }
}

function serverOf(tls: GrpcPlace['tls']): Http2Server | Http2SecureServer {
  if (tls === undefined) return createServer(OPTIONS)
  const { cert, key, ca } = tls
  const clients = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }
  return createSecureServer({ ...OPTIONS, ...HANDSHAKE_TIMES, cert, key, ...clients })
}

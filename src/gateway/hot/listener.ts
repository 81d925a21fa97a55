import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { CountedConnection } from '../../http/address-share.ts'
import { type ConnectionOwner, HotConnection, type HotExchange } from './connection.ts'
import type { HotLimits } from './request-reader.ts'

/** Time between two looks for idle connections. */
const LOOK_EVERY_MS = 4_000

/** Answers a hot request: calls `exchange.finish` once, now or later. */
export type AnswerHot = (exchange: HotExchange, token: string | undefined) => void

/**
 * Takes the connections of an HTTP server, and hands over to it each one that sends something else than
 * hot requests. Not for TLS: there the connections of the server are bytes of TLS.
 */
export class HotListener implements ConnectionOwner, Disposable {
  readonly answer: AnswerHot
  readonly limits: HotLimits
  readonly requested: ConnectionOwner['requested']
  private readonly isProxy: (address: string) => boolean
  private readonly server: Server
  private readonly connections = new Set<HotConnection>()
  /** Listeners of node:http for a new connection. */
  private readonly others: readonly ((socket: Socket) => void)[]
  private readonly timer: NodeJS.Timeout
  private isClosing = false

  /**
   * `requested`: called with a connection that has sent its first whole request, which is counted with what it returns.
   * `isProxy`: whether a peer names the clients of its requests, which node:http reads.
   */
  constructor(
    server: Server,
    {
      answer,
      requested,
      isProxy,
      limits,
    }: {
      readonly answer: AnswerHot
      readonly requested: (socket: Socket) => CountedConnection | undefined
      readonly isProxy: (address: string) => boolean
      readonly limits: HotLimits
    },
  ) {
    this.server = server
    this.answer = answer
    this.limits = limits
    this.isProxy = isProxy
    this.requested = ({ socket }) => requested(socket)
    this.others = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection')
    server.on('connection', this.accept)
    this.timer = setInterval(() => this.endIdle(), LOOK_EVERY_MS)
    this.timer.unref()
  }

  private readonly accept = (socket: Socket): void => {
    if (this.isClosing || this.isProxy(socket.remoteAddress ?? '')) this.toOthers(socket)
    else this.connections.add(new HotConnection(socket, this))
  }

  handOver(connection: HotConnection, unread: Buffer): void {
    const { socket } = connection
    this.connections.delete(connection)
    socket.unshift(unread)
    this.toOthers(socket)
    socket.resume()
  }

  closed(connection: HotConnection): void {
    this.connections.delete(connection)
  }

  /** Ends each connection when its requests are answered. New ones are left to the server. */
  [Symbol.dispose](): void {
    this.isClosing = true
    clearInterval(this.timer)
    for (const connection of this.connections) connection.end()
  }

  private toOthers(socket: Socket): void {
    for (const listener of this.others) listener.call(this.server, socket)
  }

  private endIdle(): void {
    const looks = Math.ceil(this.server.keepAliveTimeout / LOOK_EVERY_MS)
    if (looks === 0) return
    for (const connection of this.connections) {
      if (connection.idleLooks > looks) connection.socket.destroy()
      else connection.idleLooks += 1
    }
  }
}

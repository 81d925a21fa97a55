import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { pause } from '../run/pause.ts'

/** Treatment of bytes by the proxy. */
export type ProxyMode =
  /** Passes all bytes. */
  | 'pass'
  /** Keeps every connection open and drops all bytes, as when the peer has vanished. */
  | 'half-open'
  /** Resets new connections at once, as when no process listens. */
  | 'refuse'

/** A connection through the proxy: the client's side and the server's. */
interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** Whether nothing passes any more, not even the end. */
  frozen: boolean
}

/** Address of a proxy. */
export interface TcpProxyOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** @default a free port */
  readonly port?: number
}

/** A proxy in front of a TCP server on this machine, which injects faults into its connections. */
export class TcpProxy implements AsyncDisposable {
  private readonly target: number
  private readonly listener: Server
  private readonly pairs = new Set<Pair>()
  private mode: ProxyMode = 'pass'
  private delayMs = 0
  private cutAfter = Number.POSITIVE_INFINITY
  private connections = 0

  private constructor(target: number) {
    this.target = target
    this.listener = createServer({ allowHalfOpen: true }, (client) => this.accept(client))
  }

  /** Starts a proxy in front of `targetPort` of 127.0.0.1. */
  static async start(targetPort: number, options: TcpProxyOptions = {}): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort)
    const { host = '127.0.0.1', port = 0 } = options
    await once(proxy.listener.listen(port, host), 'listening')
    return proxy
  }

  /** Port for clients. */
  get port(): number {
    return (this.listener.address() as AddressInfo).port
  }

  /** Number of connections so far. */
  get accepted(): number {
    return this.connections
  }

  /** Sets the mode of current and new connections. Bytes that `half-open` dropped stay lost. */
  set(mode: ProxyMode): void {
    this.mode = mode
  }

  /** Delays every piece by `ms` in each direction, in order. */
  delay(ms: number): void {
    this.delayMs = ms
  }

  /** Resets every open connection. New ones follow the mode. */
  cut(): void {
    for (const { client, server } of this.pairs) {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
  }

  /** Makes current connections silent permanently, as when a firewall has dropped them. New ones pass. */
  freeze(): void {
    for (const pair of this.pairs) pair.frozen = true
  }

  /** Resets once the connection that sends the `bytes`-th byte from now on to the server. */
  cutAfterBytes(bytes: number): void {
    this.cutAfter = bytes
  }

  async stop(): Promise<void> {
    this.cut()
    await once(this.listener.close(), 'close')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  private accept(client: Socket): void {
    this.connections += 1
    if (this.mode === 'refuse') {
      client.on('error', () => undefined)
      client.resetAndDestroy()
      return
    }
    const server = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true })
    const pair = { client, server, frozen: false }
    this.pairs.add(pair)
    this.carry(client, server, pair, (bytes) => this.countDown(bytes))
    this.carry(server, client, pair, () => true)
  }

  /** Passes one direction in order. `admit` decides whether a piece passes. */
  private carry(from: Socket, to: Socket, pair: Pair, admit: (bytes: number) => boolean): void {
    let before: Promise<void> | undefined
    const inOrder = (action: () => void): void => {
      if (before === undefined && this.delayMs === 0) {
        action()
        return
      }
      const due = performance.now() + this.delayMs
      const turn = (before ?? Promise.resolve()).then(() => reach(due)).then(action)
      before = turn
      void turn.then(() => {
        if (before === turn) before = undefined
      })
    }
    from.on('data', (piece: Buffer) => {
      if (this.isSilent(pair)) return
      if (!admit(piece.length)) {
        this.cut()
        return
      }
      inOrder(() => {
        if (to.destroyed || to.write(piece)) return
        from.pause()
        to.once('drain', () => from.resume())
      })
    })
    // A vanished peer does not send its end.
    from.on('end', () => {
      if (!this.isSilent(pair)) inOrder(() => to.end())
    })
    from.on('error', () => to.resetAndDestroy())
    from.on('close', () => {
      if (!this.isSilent(pair)) inOrder(() => to.destroySoon())
      if (to.destroyed) this.pairs.delete(pair)
    })
  }

  private isSilent(pair: Pair): boolean {
    return pair.frozen || this.mode === 'half-open'
  }

  private countDown(bytes: number): boolean {
    this.cutAfter -= bytes
    if (this.cutAfter > 0) return true
    this.cutAfter = Number.POSITIVE_INFINITY
    return false
  }
}

async function reach(due: number): Promise<void> {
  const wait = due - performance.now()
  if (wait > 0) await pause(wait, 'the delay of the proxy')
}

import { TcpProxy } from '../../test/services/tcp-proxy.ts'

/** Connections with faults that can be injected. */
export interface Line {
  /** Resets every open connection. */
  cut(): void
  /** Delays every piece by `ms` in each direction. */
  delay(ms: number): void
  /** Drops all data without an error; new connections get no answer. */
  silence(): void
  /** Lets new connections pass again. Silenced connections stay silent. */
  reopen(): void
}

/** A line through some proxies. */
export function lineOf(...proxies: readonly TcpProxy[]): Line {
  const each = (action: (proxy: TcpProxy) => void) => (): void => proxies.forEach(action)
  return {
    cut: each((proxy) => proxy.cut()),
    delay: (ms) => each((proxy) => proxy.delay(ms))(),
    silence: each((proxy) => proxy.set('half-open')),
    reopen: each((proxy) => {
      proxy.freeze()
      proxy.set('pass')
    }),
  }
}

/** Host of the proxies in front of the query ports, which have the same port numbers. */
export const QUERY_HOST = '127.0.0.2'

/** Proxies in front of the query ports that the jobs report. */
export class QueryLine implements Line {
  private readonly proxies = new Map<number, Promise<TcpProxy>>()
  private delayMs = 0
  private isSilent = false

  /** Starts a proxy for each port that has none. */
  listen(ports: readonly number[]): void {
    for (const port of ports) {
      if (port <= 0 || this.proxies.has(port)) continue
      const opening = this.open(port)
      // The line of another job had a query thread on this port before: its proxy passes connections on.
      opening.catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error
      })
      this.proxies.set(port, opening)
    }
  }

  private async open(port: number): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(port, { host: QUERY_HOST, port })
    proxy.delay(this.delayMs)
    if (this.isSilent) proxy.set('half-open')
    return proxy
  }

  private each(action: (proxy: TcpProxy) => void): void {
    for (const proxy of this.proxies.values()) proxy.then(action, () => undefined)
  }

  cut(): void {
    this.each((proxy) => proxy.cut())
  }

  delay(ms: number): void {
    this.delayMs = ms
    this.each((proxy) => proxy.delay(ms))
  }

  silence(): void {
    this.isSilent = true
    this.each((proxy) => proxy.set('half-open'))
  }

  reopen(): void {
    this.isSilent = false
    this.each((proxy) => {
      proxy.freeze()
      proxy.set('pass')
    })
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.proxies.values()].map((starting) =>
        starting.then(
          (proxy) => proxy.stop(),
          () => undefined,
        ),
      ),
    )
  }
}

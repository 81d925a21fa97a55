import { TcpProxy } from '../test/services/tcp-proxy.ts'

/** Connections that can be spoiled. */
export interface Line {
  /** Resets every open connection. */
  cut(): void
  /** Holds every piece back for so long, each way. */
  delay(ms: number): void
  /** What is sent is lost, and nobody is told; new connections hear nothing. */
  silence(): void
  /** New connections pass again; those that were silenced stay so for good. */
  reopen(): void
}

/** A line through one proxy. */
export function lineOf(proxy: TcpProxy): Line {
  return {
    cut: () => proxy.cut(),
    delay: (ms) => proxy.delay(ms),
    silence: () => proxy.set('half-open'),
    reopen: () => {
      proxy.freeze()
      proxy.set('pass')
    },
  }
}

/** Where clients find the query ports of jobs: the ports are the same, the host is a proxy's. */
export const QUERY_HOST = '127.0.0.2'

/** Proxies in front of every query port that jobs tell. */
export class QueryLine implements Line {
  private readonly proxies = new Map<number, Promise<TcpProxy>>()
  private delayMs = 0
  private isSilent = false

  /** Stands in front of these ports; ports that are new get a proxy. */
  listen(ports: readonly number[]): void {
    for (const port of ports) {
      if (port > 0 && !this.proxies.has(port)) this.proxies.set(port, this.open(port))
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

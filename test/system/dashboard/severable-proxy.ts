import { createServer, request, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** What the proxy lets through. */
export type Passage = 'everything' | 'all-but-events' | 'nothing'

/** A proxy in front of the REST port whose connections a test cuts. */
export class SeverableProxy implements AsyncDisposable {
  private readonly server: Server
  private readonly streams = new Set<Socket>()
  private passage: Passage = 'everything'

  private constructor(target: string) {
    this.server = createServer((incoming, outgoing) => {
      const isStream = incoming.url!.startsWith('/weir/events')
      const { passage } = this
      if (passage === 'nothing' || (isStream && passage === 'all-but-events')) {
        incoming.socket.destroy()
        return
      }
      if (isStream) this.streams.add(incoming.socket)
      const { method = 'GET', url, headers } = incoming
      const forwarded = request(`${target}${url}`, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(outgoing)
      })
      outgoing.on('close', () => forwarded.destroy())
      forwarded.on('error', () => outgoing.destroy())
      incoming.pipe(forwarded)
    })
  }

  /** Opens a proxy in front of a URL. */
  static async open(target: string): Promise<SeverableProxy> {
    const proxy = new SeverableProxy(target)
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Lets only this through from now on, and cuts the connections that it forbids. */
  let(passage: Passage): void {
    this.passage = passage
    if (passage === 'nothing') this.server.closeAllConnections()
    if (passage === 'all-but-events') for (const socket of this.streams) socket.destroy()
    this.streams.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve))
    this.server.closeAllConnections()
    await closed
  }
}

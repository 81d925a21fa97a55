import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'

/** A reverse proxy as others are: it keeps its connections, and adds each client's address to `X-Forwarded-For`. */
export class ForwardingProxy implements AsyncDisposable {
  readonly port: number
  private readonly close: () => void

  private constructor(port: number, close: () => void) {
    this.port = port
    this.close = close
  }

  /** `from`: its own address as the server sees it. */
  static async open(toPort: number, from: string): Promise<ForwardingProxy> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: from })
    const server = createServer((incoming, outgoing) => {
      const { method, url, headers, socket } = incoming
      const before = headers['x-forwarded-for']
      const field = [before ?? [], socket.remoteAddress!].flat().join(', ')
      const options = { host: '127.0.0.1', port: toPort, agent, method, path: url }
      const sent = request({ ...options, headers: { ...headers, 'x-forwarded-for': field } })
      sent.on('error', () => outgoing.destroy())
      sent.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers)
        void pipeline(answer, outgoing).catch(() => {})
      })
      void pipeline(incoming, sent).catch(() => {})
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new ForwardingProxy((server.address() as AddressInfo).port, () => {
      server.closeAllConnections()
      server.close()
      agent.destroy()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }
}

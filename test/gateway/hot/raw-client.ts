import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** A connection that sends bytes as they are given. */
export class RawClient implements Disposable {
  readonly socket: Socket
  /** All bytes that came, a character a byte. */
  received = ''
  private readonly ended: Promise<unknown>

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      this.received += String(text)
      socket.emit('received')
    })
    socket.on('error', () => {})
    // After a byte to a closed peer there is an error before the end, and what was received still counts.
    this.ended = new Promise((resolve) => socket.once('close', resolve))
  }

  /** Connects to a gateway that listens, from an address of this machine. */
  static async open(app: FastifyInstance, localAddress = '127.0.0.1'): Promise<RawClient> {
    const { port } = app.server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Resolves when `pattern` has matched as often as `count`. */
  async answers(count: number, pattern = /HTTP\/1\.1 \d/g): Promise<string> {
    while ([...this.received.matchAll(pattern)].length < count) await once(this.socket, 'received')
    return this.received
  }

  /** All bytes of the connection, when the server has closed it. */
  async all(): Promise<string> {
    await this.ended
    return this.received
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

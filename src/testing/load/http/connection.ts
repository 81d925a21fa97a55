import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { messageOf, WeirError } from '../../../core/errors.ts'
import type { DeadlineEntry } from '../../../wire/deadline-wheel.ts'
import { type HttpResponse, ResponseReader } from './response-reader.ts'

/** The server of HTTP connections. */
export interface HttpAddress {
  readonly host: string
  readonly port: number
  /** Options of HTTPS; plain HTTP when missing. */
  readonly tls?: ConnectionOptions
}

const READ_BYTES = 64 * 1024

/** A keep-alive connection with one request at a time. It is opened again by its first request after an end. */
export class HttpConnection implements Disposable, DeadlineEntry {
  deadlineAt = 0
  previousEntry: DeadlineEntry | undefined = undefined
  nextEntry: DeadlineEntry | undefined = undefined
  private readonly address: HttpAddress
  private socket: Socket | undefined
  private reader = new ResponseReader()
  private waiting: PromiseWithResolvers<HttpResponse> | undefined

  constructor(address: HttpAddress) {
    this.address = address
  }

  /** Sends the bytes of a request. Rejects with UNAVAILABLE, PROTOCOL_ERROR, DEADLINE_EXCEEDED. */
  ask(request: string | Uint8Array): Promise<HttpResponse> {
    this.socket ??= this.open()
    this.waiting = Promise.withResolvers()
    this.socket.write(request)
    return this.waiting.promise
  }

  /** The request has taken too long; its answer would come too late for the next one. */
  expire(): void {
    this.fail(new WeirError('DEADLINE_EXCEEDED', 'no answer came in the time of --timeout'))
  }

  private open(): Socket {
    const { tls } = this.address
    const socket = tls === undefined ? this.openPlain() : this.openTls(tls)
    this.reader = new ResponseReader()
    socket.on('error', (error) => this.fail(this.unavailable(messageOf(error))))
    socket.on('end', () => this.endOf(socket))
    socket.on('close', () => this.endOf(socket))
    return socket
  }

  /** A socket that reads into one buffer: nothing is allocated for the bytes of an answer. */
  private openPlain(): Socket {
    const { host, port } = this.address
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    return connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer,
        callback: (length: number): boolean => {
          this.receive(buffer.subarray(0, length))
          return true
        },
      },
    })
  }

  private openTls(tls: ConnectionOptions): Socket {
    const { host, port } = this.address
    const socket = connectTls({ host, port, servername: isName(host) ? host : '', ...tls })
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.receive(chunk))
    return socket
  }

  private receive(chunk: Buffer): void {
    try {
      const response = this.reader.push(chunk)
      if (response !== undefined) this.settle(response)
    } catch (error) {
      this.fail(error as WeirError)
    }
  }

  private settle(response: HttpResponse): void {
    if (!response.keepsAlive) this.drop()
    const { waiting } = this
    this.waiting = undefined
    waiting?.resolve(response)
  }

  private endOf(socket: Socket): void {
    if (this.socket !== socket) return
    const response = this.waiting && this.reader.end()
    if (response === undefined) this.fail(this.unavailable('the server closed the connection'))
    else this.settle(response)
  }

  private fail(error: WeirError): void {
    this.drop()
    const { waiting } = this
    this.waiting = undefined
    waiting?.reject(error)
  }

  private unavailable(reason: string): WeirError {
    const { host, port } = this.address
    return new WeirError('UNAVAILABLE', `${host}:${port}: ${reason}; check the URL and the server`)
  }

  private drop(): void {
    const { socket } = this
    this.socket = undefined
    socket?.destroy()
  }

  [Symbol.dispose](): void {
    this.fail(new WeirError('UNAVAILABLE', 'the connection was closed here'))
  }
}

/** Whether TLS may send the host as a server name: an address may not be one. */
const isName = (host: string): boolean => !/^[\d.]+$|:/.test(host)

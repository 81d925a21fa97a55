import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { QueryServerOptions } from '../../../src/serving/server/options.ts'
import { QueryServer } from '../../../src/serving/server/query-server.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { FrameReader } from '../../../src/wire/frame.ts'
import { FrameWriter } from '../../../src/wire/frame-writer.ts'
import { writeHello } from '../../../src/wire/hello.ts'
import { FakeQueryBackend } from '../port/fake-query-backend.ts'

/** Preamble of a live read of one state. */
export const PREAMBLE = {
  state: 'ALS_MODEL',
  version: 0,
  deadlineMs: 1000,
  consistency: { level: 'live' },
} as const

/** A client that shows every frame as it came. */
export class RawClient {
  readonly socket: Socket
  private readonly reader = new FrameReader(() => 1 << 24)
  private readonly writer = new FrameWriter()

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1' })
    this.socket.on('error', () => {})
  }

  send(write: (writer: FrameWriter) => void): void {
    this.writer.reset()
    write(this.writer)
    this.socket.write(this.writer.toBytes())
  }

  /** Stands on the next frame; undefined at the end of the stream. */
  async next(): Promise<FrameReader | undefined> {
    while (!this.reader.next()) {
      const chunk: Buffer | null = this.socket.read()
      if (chunk !== null) this.reader.append(chunk)
      else if (this.socket.readableEnded || this.socket.destroyed) return undefined
      else await Promise.race([once(this.socket, 'readable'), once(this.socket, 'close')])
    }
    return this.reader
  }

  async hello(token = ''): Promise<FrameReader | undefined> {
    this.send((writer) => {
      const versions = { minVersion: 1, maxVersion: 3, maxFrameBytes: 1 << 20 }
      writeHello(writer, { ...versions, token, job: '', client: 'raw' })
    })
    return await this.next()
  }
}

/** A query server with a backend in memory and a clock that stands, and its clients. */
export class TestedServer {
  readonly backend = new FakeQueryBackend()
  readonly clock = new ManualClock(1000)
  readonly metrics = new MetricGroup()
  private started: QueryServer | undefined
  private readonly clients: RawClient[] = []

  constructor() {
    this.backend.rows.set('1-U', Float32Array.of(1, 2))
  }

  /** The server that was started. */
  get server(): QueryServer {
    return this.started!
  }

  /** Starts the server and connects a first client. */
  async start(options: QueryServerOptions = {}): Promise<RawClient> {
    const { clock, metrics } = this
    this.started = new QueryServer(this.backend, { clock, metrics, ...options })
    await this.server.listen()
    return this.open()
  }

  /** Connects a further client. */
  open(): RawClient {
    const client = new RawClient(this.server.port)
    this.clients.push(client)
    return client
  }

  /** Destroys the clients and closes the server. */
  async close(): Promise<void> {
    for (const client of this.clients) client.socket.destroy()
    await this.started?.close()
  }
}

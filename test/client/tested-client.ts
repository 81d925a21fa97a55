import { type ClientOptions, WeirClient } from '../../src/client/index.ts'
import type { QueryServerOptions } from '../../src/serving/server/options.ts'
import { QueryServer } from '../../src/serving/server/query-server.ts'
import { FakeQueryBackend } from '../serving/port/fake-query-backend.ts'

/** A client of a query server with some rows in memory. */
export class TestedClient {
  readonly backend = new FakeQueryBackend()
  /** What `close` does, in order. */
  readonly cleanups: (() => Promise<void>)[] = []

  constructor() {
    const { rows, encoded } = this.backend
    rows.set('1-U', Float32Array.of(1, 2))
    rows.set('2-U', Float32Array.of(-1, 0.5))
    rows.set('7-I', Float32Array.of(3, 4))
    rows.set('8-I', Float32Array.of(1, 1))
    rows.set('MEAN-U', Float32Array.of(0, 1))
    encoded.set('count', Uint8Array.of(1, 2, 3))
  }

  /** Starts the server and connects the client. */
  async start(
    serverOptions: QueryServerOptions = {},
    clientOptions: ClientOptions = {},
  ): Promise<WeirClient> {
    const server = new QueryServer(this.backend, serverOptions)
    const port = await server.listen()
    this.backend.endpoints = [{ server: 'query-0', host: '', port }]
    this.cleanups.push(() => server.close())
    const client = await WeirClient.connect({ port, ...clientOptions })
    this.cleanups.unshift(() => client.close())
    return client
  }

  /** Closes the client and the server. */
  async close(): Promise<void> {
    for (const cleanup of this.cleanups.splice(0)) await cleanup()
  }
}

import { systemClock } from '../../src/core/clock.ts'
import { WeirError } from '../../src/core/errors.ts'
import { HttpConnections as Connections } from '../../src/testing/load/http/connections.ts'
import { requestWriter } from '../../src/testing/load/http/request.ts'

/** A contender that does not answer for so long fails the benchmark, ms. */
const TIMEOUT_MS = 30_000

/** Keep-alive connections to one HTTP server on 127.0.0.1, one request at a time on each. */
export class HttpConnections implements Disposable {
  private readonly connections: Connections

  /** Opens at most `count` connections. */
  constructor(port: number, count: number) {
    this.connections = new Connections({
      address: { host: '127.0.0.1', port },
      maxConnections: count,
      timeoutMs: TIMEOUT_MS,
      clock: systemClock,
    })
  }

  /**
   * The body of the answer to a request, valid until the next turn of the event loop. Rejects with
   * UNAVAILABLE for any status but 2xx.
   */
  async ask(request: string | Uint8Array): Promise<Buffer> {
    const { status, body } = await this.connections.ask(request)
    if (status >= 200 && status < 300) return body
    throw new WeirError('UNAVAILABLE', `HTTP ${status}: ${String(body)}`)
  }

  [Symbol.dispose](): void {
    this.connections[Symbol.dispose]()
  }
}

/** The bytes of a GET request, by path. */
export const getRequest: (path: string) => string = requestWriter({
  method: 'GET',
  host: 'localhost',
  headers: {},
})

/** The bytes of a POST request with a body of JSON, by path and body. */
export const postRequest: (path: string, body: string) => string = requestWriter({
  method: 'POST',
  host: 'localhost',
  headers: { 'content-type': 'application/json' },
})

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a server answers to a request; the body is cut by a range unless `isWhole`. */
export interface ServedAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** A request as a server sees it. */
export interface ServedRequest {
  readonly url: URL
  readonly headers: IncomingHttpHeaders
}

/** An HTTP server that hands out files, and can break. */
export class PlaceServer {
  readonly requests: ServedRequest[] = []
  /** Bytes after which each of the next answers with a body larger than that breaks off, in turn. */
  readonly breaks: number[] = []
  /** Status of an answer in place of the right one. */
  refusal: (url: URL) => number | undefined = () => undefined
  /** Whether ranges are ignored. */
  sendsWhole = false
  private readonly server: Server
  private readonly answer: (request: ServedRequest) => ServedAnswer

  private constructor(answer: (request: ServedRequest) => ServedAnswer) {
    this.answer = answer
    this.server = createServer(({ url, headers }, response) => {
      const request = { url: new URL(url!, this.url), headers }
      this.requests.push(request)
      this.send(response, request)
    })
  }

  static async start(answer: (request: ServedRequest) => ServedAnswer): Promise<PlaceServer> {
    const server = new PlaceServer(answer)
    await once(server.server.listen(0, '127.0.0.1'), 'listening')
    return server
  }

  /** `http://127.0.0.1:PORT`. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  private send(response: ServerResponse, request: ServedRequest): void {
    const refused = this.refusal(request.url)
    if (refused !== undefined) {
      response.writeHead(refused).end('secret text of the server')
      return
    }
    const { status = 200, headers = {}, body = '' } = this.answer(request)
    const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body)
    const [, start] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? []
    const isPart = start !== undefined && status === 200 && !this.sendsWhole
    const sent = isPart ? bytes.subarray(Number(start)) : bytes
    response.writeHead(isPart ? 206 : status, { ...headers, 'content-length': sent.length })
    const limit = this.breaks[0]
    if (limit === undefined || sent.length <= limit) {
      response.end(sent)
      return
    }
    this.breaks.shift()
    response.write(sent.subarray(0, limit), () => setImmediate(() => response.destroy()))
  }
}

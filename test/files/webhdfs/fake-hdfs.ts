import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received request; `step` says which server it is for: NameNode or DataNode. */
export interface FakeRequest {
  readonly method: string
  readonly step: 'name' | 'data'
  readonly path: string
  readonly query: URLSearchParams
}

/** Handles a request before the fake does; returns whether it did. */
export type Fault = (
  request: FakeRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
) => boolean | Promise<boolean>

/**
 * NameNode and DataNode in one HTTP server over a map of files: the part of WebHDFS that the client
 * uses, with faults at exact points.
 */
export class FakeHdfs implements AsyncDisposable {
  readonly files = new Map<string, Uint8Array>()
  readonly requests: FakeRequest[] = []
  /** Tried in order; one that handled a request is removed. */
  readonly faults: Fault[] = []
  /** Whether step one is answered by a redirect, as in clusters before Hadoop 2.9. */
  redirects = false
  private readonly server: Server = createServer((incoming, response) => {
    void this.serve(incoming, response)
  })

  static async start(): Promise<FakeHdfs> {
    const fake = new FakeHdfs()
    await once(fake.server.listen(0, '127.0.0.1'), 'listening')
    return fake
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Requests as `step OP`. */
  get log(): string[] {
    return this.requests.map(({ step, query }) => `${step} ${query.get('op')}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    await once(this.server.close(), 'close')
  }

  /** Executes a request; also for faults that lose the answer afterwards. */
  execute(request: FakeRequest): { status: number; body: unknown } {
    const { files } = this
    const { path, query } = request
    const missing = refusal(404, 'FileNotFoundException', `File ${path} does not exist.`)
    switch (query.get('op')) {
      case 'GETFILESTATUS': {
        const file = files.get(path)
        if (file === undefined) return path === '/' ? folder() : missing
        return status(file)
      }
      case 'DELETE':
        return { status: 200, body: { boolean: files.delete(path) } }
      case 'MKDIRS':
        return { status: 200, body: { boolean: true } }
      case 'RENAME': {
        const target = query.get('destination')!
        if (!files.has(path)) return missing
        if (query.get('renameoptions') === 'NONE' && files.has(target)) {
          return refusal(403, 'FileAlreadyExistsException', `${target} exists`)
        }
        files.set(target, files.get(path)!)
        files.delete(path)
        return { status: 200, body: '' }
      }
      default:
        return refusal(400, 'UnsupportedOperationException', `${query.get('op')}`)
    }
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url!, 'http://fake')
    const step = url.pathname.startsWith('/data/') ? 'data' : 'name'
    const path = decodeURIComponent(url.pathname.replace(/^\/(data|webhdfs)\/v1/, '')) || '/'
    const query = url.searchParams
    const request: FakeRequest = { method: incoming.method!, step, path, query }
    this.requests.push(request)
    for (const fault of this.faults) {
      if (await fault(request, incoming, response)) {
        this.faults.splice(this.faults.indexOf(fault), 1)
        return
      }
    }
    if (step === 'data') await this.serveData(request, incoming, response)
    else this.serveName(request, response)
  }

  private serveName(request: FakeRequest, response: ServerResponse): void {
    const { path, query } = request
    const op = query.get('op')
    if (op === 'CREATE' || op === 'OPEN') {
      const location = `http://127.0.0.1:${this.port}/data/v1${encodeURI(path)}?${query}`
      if (this.redirects) response.writeHead(307, { Location: location }).end()
      else response.end(JSON.stringify({ Location: location }))
      return
    }
    const { status: code, body } = this.execute(request)
    response.writeHead(code).end(body === '' ? '' : JSON.stringify(body))
  }

  private async serveData(
    { path, query }: FakeRequest,
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (query.get('op') === 'CREATE') {
      const chunks: Uint8Array[] = []
      try {
        for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
      } catch {
        return
      }
      this.files.set(path, Buffer.concat(chunks))
      response.writeHead(201).end()
      return
    }
    const start = Number(query.get('offset'))
    const length = query.get('length')
    const end = length === null ? undefined : start + Number(length)
    response.end(this.files.get(path)!.subarray(start, end))
  }
}

/** An error answer of WebHDFS. */
export function refusal(
  code: number,
  exception: string,
  message: string,
): { status: number; body: unknown } {
  return { status: code, body: { RemoteException: { exception, message } } }
}

function status(file: Uint8Array): { status: number; body: unknown } {
  const FileStatus = { pathSuffix: '', type: 'FILE', length: file.length, modificationTime: 1 }
  return { status: 200, body: { FileStatus } }
}

function folder(): { status: number; body: unknown } {
  const FileStatus = { pathSuffix: '', type: 'DIRECTORY', length: 0, modificationTime: 1 }
  return { status: 200, body: { FileStatus } }
}

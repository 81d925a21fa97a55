import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received request. */
export interface FakeS3Request {
  readonly method: string
  /** Key in the bucket, decoded; empty for requests to the bucket itself. */
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** An answer of the server. */
export interface FakeS3Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Handles a request before the fake does; returns whether it did. */
export type S3Fault = (
  request: FakeS3Request,
  incoming: IncomingMessage,
  response: ServerResponse,
) => boolean | Promise<boolean>

interface Stored {
  readonly bytes: Buffer
  readonly metadata: Readonly<Record<string, string>>
}

interface OpenUpload {
  readonly key: string
  readonly metadata: Readonly<Record<string, string>>
  readonly parts: Map<number, Buffer>
  readonly began: Date
}

/** A bucket of S3 in one HTTP server over a map of objects: what the client uses, with faults at exact points. */
export class FakeS3 implements AsyncDisposable {
  readonly objects = new Map<string, Stored>()
  readonly uploads = new Map<string, OpenUpload>()
  readonly requests: FakeS3Request[] = []
  /** Tried in order; one that handled a request is removed. */
  readonly faults: S3Fault[] = []
  /** Whether `If-None-Match` is kept. */
  keepsConditions = true
  /** Entries of a page of a list. */
  pageLength = 1000
  private readonly server: Server = createServer((incoming, response) => {
    void this.serve(incoming, response)
  })

  static async start(): Promise<FakeS3> {
    const fake = new FakeS3()
    await once(fake.server.listen(0, '127.0.0.1'), 'listening')
    return fake
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** An `s3://` URL of a place in the bucket `box`. */
  url(prefix: string, settings = ''): string {
    return `s3://box/${prefix}?endpoint=http://127.0.0.1:${this.port}&region=us-east-1${settings}`
  }

  /** Requests as `METHOD key`, with `?upload` for those of an upload. */
  get log(): string[] {
    return this.requests.map(({ method, key, query }) => {
      const part = query.get('partNumber')
      const isUpload = query.has('uploads') || query.has('uploadId')
      return `${method} ${key}${isUpload ? '?upload' : ''}${part === null ? '' : ` ${part}`}`
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    await once(this.server.close(), 'close')
  }

  /** Executes a request; also for faults that lose the answer afterwards. */
  execute(request: FakeS3Request): FakeS3Answer {
    const { method, key, query } = request
    if (key === '') return this.executeOnBucket(request)
    const id = query.get('uploadId')
    if (query.has('uploads')) return this.beginUpload(request)
    if (id !== null) return this.executeOnUpload(request, id)
    if (method === 'PUT') return this.put(request)
    if (method === 'DELETE') {
      this.objects.delete(key)
      return { status: 204 }
    }
    return this.get(request)
  }

  private executeOnBucket({ method, query, body }: FakeS3Request): FakeS3Answer {
    if (method === 'POST') {
      const keys = [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!)
      if (keys.length > 1000) return refusal(400, 'MalformedXML')
      for (const key of keys) this.objects.delete(key)
      return xml('<DeleteResult></DeleteResult>')
    }
    const prefix = query.get('prefix') ?? ''
    if (query.has('uploads')) {
      const found = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix))
      const entries = found.map(
        ([id, { key, began }]) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${began.toISOString()}</Initiated></Upload>`,
      )
      return xml(`<ListMultipartUploadsResult>${entries.join('')}</ListMultipartUploadsResult>`)
    }
    const from = Number(query.get('continuation-token') ?? 0)
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort()
    const page = keys.slice(from, from + this.pageLength)
    const entries = page.map(
      (key) =>
        `<Contents><Key>${key}</Key><Size>${this.objects.get(key)!.bytes.length}</Size></Contents>`,
    )
    const next = from + page.length
    const more = next < keys.length
    const token = more ? `<NextContinuationToken>${next}</NextContinuationToken>` : ''
    return xml(
      `<ListBucketResult><IsTruncated>${more}</IsTruncated>${token}${entries.join('')}</ListBucketResult>`,
    )
  }

  private put({ key, headers, body }: FakeS3Request): FakeS3Answer {
    const isConditional = headers['if-none-match'] === '*' && this.keepsConditions
    if (isConditional && this.objects.has(key)) return refusal(412, 'PreconditionFailed')
    this.objects.set(key, { bytes: body, metadata: metadataOf(headers) })
    return { status: 200, headers: { etag: etagOf(body) } }
  }

  private get({ method, key, headers }: FakeS3Request): FakeS3Answer {
    const stored = this.objects.get(key)
    if (stored === undefined) return refusal(404, 'NoSuchKey')
    const { bytes, metadata } = stored
    if (method === 'HEAD') {
      return { status: 200, headers: { ...metadata, 'content-length': String(bytes.length) } }
    }
    const [, from = '', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
    if (from === '') return { status: 200, headers: metadata, body: bytes }
    if (Number(from) >= bytes.length) return refusal(416, 'InvalidRange')
    const part = bytes.subarray(Number(from), to === '' ? undefined : Number(to) + 1)
    const range = `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}`
    return { status: 206, headers: { ...metadata, 'content-range': range }, body: part }
  }

  private beginUpload({ key, headers }: FakeS3Request): FakeS3Answer {
    const id = `upload-${this.uploads.size}-${this.requests.length}`
    const metadata = metadataOf(headers)
    this.uploads.set(id, { key, metadata, parts: new Map(), began: new Date() })
    return xml(
      `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    )
  }

  private executeOnUpload({ method, key, query, body }: FakeS3Request, id: string): FakeS3Answer {
    const upload = this.uploads.get(id)
    if (upload === undefined) return refusal(404, 'NoSuchUpload')
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body)
      return { status: 200, headers: { etag: etagOf(body) } }
    }
    this.uploads.delete(id)
    if (method === 'DELETE') return { status: 204 }
    const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, n]) => Number(n))
    const bytes = Buffer.concat(numbers.map((number) => upload.parts.get(number)!))
    this.objects.set(key, { bytes, metadata: upload.metadata })
    return xml('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>')
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    // A test cuts connections.
    incoming.on('error', () => undefined)
    const pieces: Buffer[] = []
    try {
      for await (const piece of incoming) pieces.push(piece)
    } catch {
      return
    }
    const url = new URL(incoming.url!, 'http://s3')
    const request = {
      method: incoming.method!,
      key: decodeURIComponent(url.pathname).replace(/^\/box\/?/, ''),
      query: url.searchParams,
      headers: incoming.headers,
      body: Buffer.concat(pieces),
    }
    this.requests.push(request)
    for (const fault of [...this.faults]) {
      if (!(await fault(request, incoming, response))) continue
      this.faults.splice(this.faults.indexOf(fault), 1)
      return
    }
    send(response, this.execute(request))
  }
}

/** Sends an answer. */
export function send(response: ServerResponse, { status, headers, body }: FakeS3Answer): void {
  const length = { 'content-length': String(Buffer.byteLength(body ?? '')) }
  response.writeHead(status, { ...length, ...headers }).end(body)
}

/** An answer with an error. */
export function refusal(
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): FakeS3Answer {
  const body = `<Error><Code>${code}</Code><Message>${code} said the server</Message></Error>`
  return { status, headers: { 'content-type': 'application/xml', ...headers }, body }
}

function xml(text: string): FakeS3Answer {
  return { status: 200, headers: { 'content-type': 'application/xml' }, body: text }
}

function etagOf(bytes: Uint8Array): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`
}

function metadataOf(headers: IncomingMessage['headers']): Readonly<Record<string, string>> {
  const own = Object.entries(headers).filter(([name]) => name.startsWith('x-amz-meta-'))
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]))
}

/** Closes the connection of a request once, before or after its execution. */
export function cut(s3: FakeS3, method: string, when: 'before' | 'after'): S3Fault {
  return (request, incoming) => {
    if (request.method !== method) return false
    if (when === 'after') s3.execute(request)
    incoming.socket.resetAndDestroy()
    return true
  }
}

/** Answers a request of a method once. */
export function answerOnce(method: string, answer: FakeS3Answer): S3Fault {
  return (request, _incoming, response) => {
    if (request.method !== method) return false
    send(response, answer)
    return true
  }
}

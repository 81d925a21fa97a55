import { JSON_LENGTH_HEADER } from '../inference/message.ts'

/** Fields that do not change the answer. */
const IGNORED = new Set([
  'accept-encoding',
  'accept-language',
  'cache-control',
  'forwarded',
  'pragma',
  // Node's fetch sends the mode.
  'sec-fetch-dest',
  'sec-fetch-mode',
  'user-agent',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-id',
])

const FIELD = /^([A-Za-z0-9-]+):[ \t]*([\t\x20-\x7e]*)$/

/** Fields with a meaning, which a head has at most once. */
const KNOWN: ReadonlySet<string> = new Set([
  'host',
  'accept',
  'authorization',
  'connection',
  'content-type',
  'content-length',
  JSON_LENGTH_HEADER,
])

/** Header fields of a request that are not ignored. */
export interface Head {
  /** Value of `Host`. */
  readonly host: string
  /** Value of `Accept`. */
  readonly accept: string | undefined
  /** Value of `Authorization`. */
  readonly authorization: string | undefined
  /** Value of `Content-Type`. */
  readonly type: string | undefined
  /** Value of `Content-Length`. */
  readonly length: string | undefined
  /** Value of `Inference-Header-Content-Length`. */
  readonly jsonLength: string | undefined
}

/** The fields between the request line and the empty line; undefined if one is not on the list. */
export function parseHead(text: string): Head | undefined {
  const fields = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    const field = FIELD.exec(line)
    if (field === null) return undefined
    const name = field[1]!.toLowerCase()
    if (IGNORED.has(name)) continue
    if (!KNOWN.has(name) || fields.has(name)) return undefined
    fields.set(name, field[2]!)
  }
  const connection = fields.get('connection')?.toLowerCase() ?? 'keep-alive'
  const host = fields.get('host')
  if (host === undefined || connection !== 'keep-alive') return undefined
  return {
    host,
    accept: fields.get('accept'),
    authorization: fields.get('authorization'),
    type: fields.get('content-type'),
    length: fields.get('content-length'),
    jsonLength: fields.get(JSON_LENGTH_HEADER),
  }
}

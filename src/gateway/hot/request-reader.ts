import { bearerTokenOf } from '../../http/access/bearer.ts'
import { isLoopbackName } from '../../http/own-origin.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import type { EncodedPairs } from '../../wire/encoded-pairs.ts'
import { MAX_ID_LENGTH } from '../http/schemas.ts'
import type { InferenceCall } from '../inference/answers.ts'
import { plainObservationOf } from '../observations/body.ts'
import { DEFAULT_HOW_MANY } from '../recommender/list-route.ts'
import { type ListType, listTypeOf } from '../recommender/listing.ts'
import { OBSERVE_ROUTE } from '../routes/observe.ts'
import { scanPairs } from '../routes/pairs-scanner.ts'
import type { PredictedPair } from '../routes/prediction-body.ts'
import { giveBuffer, takeBuffer } from './batch-buffers.ts'
import { type Head, parseHead } from './head.ts'
import { KnownHead } from './known-head.ts'

/*
 * The requests that a connection answers without node:http, with header fields of a short list:
 *
 * - `GET /v1/predict/<user>/<item> HTTP/1.1` with ids of unreserved characters (RFC 3986);
 * - `GET /recommend/<user> HTTP/1.1`, or `.../<user>?howMany=<digits>`, of a client that takes a list as it is sent;
 * - `POST /v1/predict HTTP/1.1` with a body of JSON that `scanPairs` reads;
 * - `POST /v1/observe HTTP/1.1` with a body of JSON that `plainObservationOf` reads;
 * - `POST /v2/models/<model>/infer HTTP/1.1`, or `.../<model>/versions/<version>/infer`, with any body: its route looks
 *   neither at the media type nor at fields that are not below.
 *
 * A request that differs in one byte from these forms is left to node:http. The list has no field that
 * changes what the connection speaks (`Upgrade`). Of the fields that change where a message ends it has
 * `Content-Length`, once, in digits, and not for the first two forms. So both parsers agree about the end of
 * each request.
 */

const PAIR_PATH = 'GET /v1/predict/'
const RECOMMEND_PATH = 'GET /recommend/'
const HOW_MANY = 'howMany='
const MODELS_PATH = 'POST /v2/models/'
const VERSIONS_PATH = 'versions/'
const VERSION = ' HTTP/1.1\r\n'
const INFER_END = `infer${VERSION}`
const PAIRS_LINE = `POST /v1/predict${VERSION}`
const OBSERVE_LINE = `POST ${OBSERVE_ROUTE}${VERSION}`
const HEAD_END = '\r\n\r\n'
/** Longer heads are left to node:http, which refuses those above its own limit. */
const MAX_HEAD_LENGTH = 8192

const SLASH = 0x2f
const SPACE = 0x20
const QUESTION = 0x3f

/** Whether a character code is unreserved: a letter, a digit, `-`, `.`, `_` or `~`. */
const UNRESERVED = new Uint8Array(256)
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~') {
  UNRESERVED[character.charCodeAt(0)] = 1
}

/** Media types of a body of JSON; in others node:http and Fastify look for the character set. */
const JSON_TYPES: ReadonlySet<string> = new Set([
  'application/json',
  'application/json; charset=utf-8',
])
const LENGTH = /^[1-9][0-9]{0,8}$/
const COUNT = /^[1-9][0-9]{0,2}$/

/** The bytes of the body that is read. */
let body: Buffer = Buffer.alloc(0)

/** What the head of an inference says. */
interface InferMeaning {
  readonly call: Omit<InferenceCall, 'body'>
  readonly token: string | undefined
}

/** A request for the best items of a user. */
export interface RecommendRequest {
  readonly kind: 'recommend'
  readonly user: string
  readonly howMany: number
  readonly type: ListType
}

/** What a hot request asks for: the prediction of a pair, those of some pairs, a list, the run of a model, or to store an observation. */
export type HotRequest =
  | ({ readonly kind: 'pair' } & PredictedPair)
  | RecommendRequest
  /** The memory of the body belongs to no one else. */
  | ({ readonly kind: 'infer' } & InferenceCall)
  /** The bytes of the pairs are of `takeBuffer`. */
  | { readonly kind: 'pairs'; readonly pairs: EncodedPairs }
  | { readonly kind: 'observation'; readonly observation: Rating }

/**
 * What some received bytes begin with: a whole hot request, a part of one whose body is still to come, or
 * something else, such as a head that has not arrived whole.
 */
export type Reading = 'whole' | 'part' | 'other'

/** Which requests are hot; all others are left to node:http. */
export interface HotLimits {
  /** Bytes of the longest body. */
  readonly maxBodyBytes: number
  /** Bytes of the longest observation; 0 where the gateway takes none. */
  readonly maxObservationBytes: number
  /** Only those whose `Host` is this machine itself. */
  readonly onlyLoopbackNames: boolean
}

/**
 * Reads the hot requests of one connection. Clients send the same header fields with each request of a
 * connection, so the last head of each form is kept with its meaning, and a comparison replaces the
 * parser.
 */
export class RequestReader {
  /** Valid after a whole request, as `token`. */
  request!: HotRequest
  /** Bearer token. */
  token: string | undefined
  /** Index after the request, also after one of which a part has arrived. */
  end = 0
  private readonly limits: HotLimits
  private knownHead = ''
  private knownToken: string | undefined
  private knownType: ListType | undefined
  private jsonHead: KnownHead<string | undefined> | undefined
  private inferHead: KnownHead<InferMeaning> | undefined

  constructor(limits: HotLimits) {
    this.limits = limits
  }

  /** Reads the request at `at` of some received bytes (a character a byte) into the fields. */
  read(text: string, at: number): Reading {
    if (text.startsWith(PAIR_PATH, at)) return this.readPair(text, at) ? 'whole' : 'other'
    if (text.startsWith(RECOMMEND_PATH, at)) return this.readRecommend(text, at) ? 'whole' : 'other'
    const { maxBodyBytes, maxObservationBytes } = this.limits
    if (text.startsWith(PAIRS_LINE, at)) {
      return this.readJson(text, at + PAIRS_LINE.length, maxBodyBytes, pairsOf)
    }
    if (text.startsWith(OBSERVE_LINE, at)) {
      return this.readJson(text, at + OBSERVE_LINE.length, maxObservationBytes, observationOf)
    }
    if (text.startsWith(MODELS_PATH, at)) return this.readInfer(text, at)
    return 'other'
  }

  /**
   * Reads some received bytes into the fields if they are one inference with the head of the last one. Its body stays where
   * it is; a text of it would be two more copies.
   */
  readWhole(bytes: Buffer): boolean {
    const { inferHead } = this
    if (inferHead === undefined) return false
    const length = inferHead.lengthAt(bytes.toString('latin1', 0, inferHead.mostLength), 0)
    const { bodyAt, meaning } = inferHead
    if (length < 0 || length > this.limits.maxBodyBytes || bodyAt + length !== bytes.length) {
      return false
    }
    this.setInference(meaning, bytes.subarray(bodyAt))
    return true
  }

  private readInfer(text: string, at: number): Reading {
    const length = this.inferLength(text, at)
    if (length < 0 || length > this.limits.maxBodyBytes) return 'other'
    const { bodyAt, meaning } = this.inferHead!
    this.end = bodyAt + length
    if (this.end > text.length) return 'part'
    this.setInference(meaning, bytesOf(text.slice(bodyAt, this.end)))
    return 'whole'
  }

  private setInference({ call, token }: InferMeaning, body: Buffer): void {
    const { model, version, jsonLength } = call
    this.request = { kind: 'infer', model, version, jsonLength, body }
    this.token = token
  }

  /** Length of the body behind the head of `inferHead`, which it reads if it is a new one; -1 if it is left to node:http. */
  private inferLength(text: string, at: number): number {
    const known = this.inferHead?.lengthAt(text, at) ?? -1
    if (known >= 0) return known
    const path = readInferPath(text, at + MODELS_PATH.length)
    if (path === undefined) return -1
    const headEnd = endOfHead(text, path.end)
    if (headEnd < 0) return -1
    const head = this.parseHead(text.slice(path.end, headEnd))
    if (head?.length === undefined || !LENGTH.test(head.length)) return -1
    const whole = copyOf(text.slice(at, headEnd + HEAD_END.length))
    const { model, version } = path
    this.inferHead = new KnownHead(whole, head.length, {
      call: { model, version, jsonLength: head.jsonLength },
      token: bearerTokenOf(head.authorization),
    })
    return this.inferHead.lengthAt(text, at)
  }

  private readPair(text: string, at: number): boolean {
    const userAt = at + PAIR_PATH.length
    const itemAt = endOfId(text, userAt, SLASH) + 1
    if (itemAt === 0) return false
    const pathEnd = endOfId(text, itemAt, SPACE)
    if (pathEnd < 0 || !text.startsWith(VERSION, pathEnd)) return false
    if (!this.readBodilessHead(text, pathEnd + VERSION.length)) return false
    const user = text.slice(userAt, itemAt - 1)
    this.request = { kind: 'pair', user, item: text.slice(itemAt, pathEnd) }
    this.token = this.knownToken
    return true
  }

  private readRecommend(text: string, at: number): boolean {
    const userAt = at + RECOMMEND_PATH.length
    const spaceAt = text.indexOf(' ', userAt)
    const queryAt = endOfId(text, userAt, QUESTION)
    const userEnd = queryAt < 0 ? endOfId(text, userAt, SPACE) : queryAt
    const howMany = queryAt < 0 ? DEFAULT_HOW_MANY : howManyOf(text.slice(queryAt + 1, spaceAt))
    if (userEnd < 0 || howMany === 0 || !text.startsWith(VERSION, spaceAt)) return false
    if (!this.readBodilessHead(text, spaceAt + VERSION.length)) return false
    if (this.knownType === undefined) return false
    const user = text.slice(userAt, userEnd)
    this.request = { kind: 'recommend', user, howMany, type: this.knownType }
    this.token = this.knownToken
    return true
  }

  private readBodilessHead(text: string, at: number): boolean {
    const { knownHead } = this
    if (knownHead !== '' && text.startsWith(knownHead, at)) {
      this.end = at + knownHead.length
      return true
    }
    const end = endOfHead(text, at)
    if (end < 0) return false
    const head = this.parseHead(text.slice(at, end))
    if (head === undefined || head.type !== undefined || head.length !== undefined) return false
    this.end = end + HEAD_END.length
    this.knownHead = copyOf(text.slice(at, this.end))
    this.knownToken = bearerTokenOf(head.authorization)
    this.knownType = listTypeOf(head.accept)
    return true
  }

  /** Reads a request whose fields begin at `at`. `requestOf`: what a body of at most `mostBytes` asks for; undefined as of `pairsOf`. */
  private readJson(
    text: string,
    at: number,
    mostBytes: number,
    requestOf: (body: string) => HotRequest | undefined,
  ): Reading {
    const length = this.jsonLength(text, at)
    if (length < 0 || length > mostBytes) return 'other'
    const { bodyAt, meaning } = this.jsonHead!
    this.end = bodyAt + length
    if (this.end > text.length) return 'part'
    const request = requestOf(text.slice(bodyAt, this.end))
    if (request === undefined) return 'other'
    this.request = request
    this.token = meaning
    return 'whole'
  }

  /** As `inferLength`, for the head of a body of JSON, whose meaning is its token. */
  private jsonLength(text: string, at: number): number {
    const known = this.jsonHead?.lengthAt(text, at) ?? -1
    if (known >= 0) return known
    const end = endOfHead(text, at)
    if (end < 0) return -1
    const head = this.parseHead(text.slice(at, end))
    if (head?.type === undefined || !JSON_TYPES.has(head.type)) return -1
    if (head.length === undefined || !LENGTH.test(head.length)) return -1
    const whole = copyOf(text.slice(at, end + HEAD_END.length))
    this.jsonHead = new KnownHead(whole, head.length, bearerTokenOf(head.authorization))
    return this.jsonHead.lengthAt(text, at)
  }

  private parseHead(text: string): Head | undefined {
    const head = parseHead(text)
    if (head === undefined || !this.limits.onlyLoopbackNames) return head
    return isLoopbackName(head.host) ? head : undefined
  }
}

/** The number of a query `howMany=N`; 0 for another query, and for numbers that the schema may refuse. */
function howManyOf(query: string): number {
  if (!query.startsWith(HOW_MANY)) return 0
  const digits = query.slice(HOW_MANY.length)
  return COUNT.test(digits) ? Number(digits) : 0
}

/** The model and version of a path whose model begins at `at`, and where the fields begin; undefined for another path. */
function readInferPath(
  text: string,
  at: number,
): { readonly model: string; readonly version: string | undefined; end: number } | undefined {
  const modelEnd = endOfId(text, at, SLASH)
  if (modelEnd < 0) return undefined
  let next = modelEnd + 1
  let version: string | undefined
  if (text.startsWith(VERSIONS_PATH, next)) {
    const versionAt = next + VERSIONS_PATH.length
    const versionEnd = endOfId(text, versionAt, SLASH)
    if (versionEnd < 0) return undefined
    version = copyOf(text.slice(versionAt, versionEnd))
    next = versionEnd + 1
  }
  if (!text.startsWith(INFER_END, next)) return undefined
  return { model: copyOf(text.slice(at, modelEnd)), version, end: next + INFER_END.length }
}

/** The bytes of a text (a character a byte) in a buffer of `takeBuffer`. */
function bytesOf(text: string): Buffer {
  const { length } = text
  const bytes = Buffer.from(takeBuffer(length).buffer, 0, length)
  bytes.write(text, 'latin1')
  return bytes
}

/** The request of a body of pairs (a character a byte); undefined as of `scanPairs`. */
function pairsOf(text: string): HotRequest | undefined {
  const { length } = text
  if (body.length < length) body = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)))
  body.write(text, 'latin1')
  const keys = takeBuffer(length)
  const pairs = scanPairs(body.subarray(0, length), keys)
  if (pairs !== undefined) return { kind: 'pairs', pairs }
  giveBuffer(keys)
  return undefined
}

/** The request of a body with an observation; undefined as of `plainObservationOf`. */
function observationOf(text: string): HotRequest | undefined {
  const observation = plainObservationOf(text)
  return observation && { kind: 'observation', observation }
}

/** Index of the empty line that ends the head whose fields begin at `at`; -1 if there is none. */
function endOfHead(text: string, at: number): number {
  const end = text.indexOf(HEAD_END, at)
  return end - at > MAX_HEAD_LENGTH ? -1 : end
}

/** Index of the character `terminator` that ends the id at `at`; -1 if no valid id ends with it. */
function endOfId(text: string, at: number, terminator: number): number {
  const limit = Math.min(text.length, at + MAX_ID_LENGTH + 1)
  for (let i = at; i < limit; i++) {
    const code = text.charCodeAt(i)
    if (UNRESERVED[code] === 1) continue
    return code === terminator && i > at ? i : -1
  }
  return -1
}

/** A copy, because a slice would keep all bytes that arrived with it. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

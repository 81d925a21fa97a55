import type { ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import { createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import type { Cancel } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { giveChunk } from '../../core/lifetime/give-chunk.ts'
import type { ByteBudget } from '../../http/access/byte-budget.ts'
import { furtherRequests } from '../../http/access/rate-bucket.ts'
import { clientAddressOf } from '../../http/client-address.ts'
import { hasBody } from '../../http/connection-share.ts'
import type { FairTurns } from '../../http/fair-turns.ts'
import { addJsonParser } from '../../http/json-parser.ts'
import {
  AROUND_BYTES,
  FREE_BYTES,
  MOST_RATIO,
  noRoomError,
  ratioError,
  UNCOUNTED_BYTES,
} from './body-limits.ts'
import { StagedBytes } from './staged-bytes.ts'

/** Media types whose bodies a route gets as bytes. */
const RAW_TYPES = [
  'text/csv',
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/octet-stream',
] as const

/** Bytes of a decoder that come in one turn of the event loop. */
const DECODED_BYTES = 128 * 1024

/** Content codings of bodies. */
const DECODERS = { gzip: createGunzip, deflate: createInflate } as const

/** What bodies are read with. */
export interface BodyOptions {
  /** Memory for bodies. */
  readonly budget: ByteBudget
  /** Whose share of it a request takes. */
  readonly clientOf: (request: FastifyRequest) => string
  /** When a large body is read. */
  readonly turns: FairTurns
  /** Takes requests that a large body counts as, from the rate of its client. @default none has a rate */
  readonly charge?: (request: FastifyRequest, requests: number) => void
}

/**
 * Accepts bodies of JSON, CSV, NDJSON and bytes, and compressed bodies of every type. The body limit of a
 * route counts bytes after decompression, so that a small body cannot fill the memory. A large body is read as there is
 * room for it, until the deadline of its request.
 */
export function addBodyParsers(app: FastifyInstance, options: BodyOptions): void {
  const { budget, clientOf, turns, charge = () => {} } = options
  addJsonParser(app, turns)
  app.addContentTypeParser([...RAW_TYPES], { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })
  /** Requests whose bodies take time to read, with the bytes of them. */
  const large = new WeakMap<FastifyRequest, CountedBytes>()
  app.addHook('preValidation', (request, _reply, done) => {
    const counted = large.get(request)
    if (counted === undefined) return done()
    counted.release()
    turns.run(clientAddressOf(request), 'large', () => {
      const startMs = performance.now()
      done()
      const ms = performance.now() - startMs
      charge(request, furtherRequests({ bytes: counted.bytes, ms }))
    })
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    // The hook runs for every request, and a stream for none would cost a GET more than its route.
    if (!hasBody(request.raw)) return done(null, payload)
    const coding = request.headers['content-encoding']
    const isPlain = coding === undefined || coding === 'identity'
    if (isPlain && Number(request.headers['content-length']) <= UNCOUNTED_BYTES) {
      return done(null, payload)
    }
    if (!isPlain && !Object.hasOwn(DECODERS, coding)) {
      const message = `the content coding "${coding.slice(0, 40)}" is not known; send gzip, deflate or none`
      return done(new WeirError('INVALID_ARGUMENT', message))
    }
    const client = clientOf(request)
    const { bodyLimit } = request.routeOptions
    const bytes: CountedBytes = { bytes: 0, release() {} }
    // The bytes of a request that came through no socket belong to who made it.
    const isOwned = isPlain && request.raw.socket.bytesRead > 0
    const body = { budget, client, bodyLimit, counted: bytes, isOwned }
    const counted = countedStream(body, reply.raw)
    large.set(request, bytes)
    // No one may read the body: of an unknown path, after a refusal, beyond the limit. An error without a
    // listener would end the process.
    counted.on('error', () => {})
    payload.on('error', (error) => counted.destroy(error))
    // Nothing flows until someone reads: an error before that would be seen by no one, and the request never end.
    if (isPlain)
      return done(
        null,
        counted.once('resume', () => payload.pipe(counted)),
      )
    const decoder = DECODERS[coding as keyof typeof DECODERS]({ chunkSize: DECODED_BYTES })
    reply.raw.once('close', () => {
      // No one waits for the rest when the client has left.
      if (!reply.raw.writableFinished) decoder.destroy()
    })
    done(null, decoded(payload, decoder, counted))
  })
}

/** The bytes of a decoder, counted; what was received is counted, too, for the check of the length. */
function decoded(payload: RequestPayload, decoder: Gunzip | Inflate, counted: Transform) {
  const limited = ratioLimit(decoder)
  for (const stream of [decoder, limited]) stream.on('error', (error) => counted.destroy(error))
  const stream = Object.assign(counted, { receivedEncodedLength: 0 })
  return stream.once('resume', () => {
    payload.on('data', (chunk: Buffer) => {
      stream.receivedEncodedLength += chunk.length
    })
    payload.pipe(decoder).pipe(limited).pipe(counted)
  })
}

/** Bytes of a body that have come. */
interface CountedBytes {
  bytes: number
  /** Gives the memory back that they came into: the parser has made a copy of them, or what they say. */
  release(): void
}

/** Where the bytes of a body are counted, and how many there may be. */
interface CountedBody {
  readonly counted: CountedBytes
  readonly budget: ByteBudget
  readonly client: string
  readonly bodyLimit: number
  /** Whether its chunks are used by no one else. */
  readonly isOwned: boolean
}

/**
 * Takes bytes as there is room for them, and passes them on when the body is whole, or too long; they are given back when
 * the request is answered, or its client is gone.
 */
function countedStream(body: CountedBody, response: ServerResponse) {
  const { budget, client, bodyLimit, counted, isOwned } = body
  let taken = 0
  let isOver = false
  let stopWaiting: Cancel | undefined
  const staged = new StagedBytes()
  counted.release = () => staged.release()
  const end = (): void => {
    isOver = true
    stopWaiting?.()
    budget.give(client, taken)
    taken = 0
    staged.release()
  }
  response.once('finish', end).once('close', end)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (isOver) return done()
      const more = chunk.length + (taken === 0 ? AROUND_BYTES : 0)
      stopWaiting = budget.take(client, more, () => {
        taken += more
        counted.bytes += chunk.length
        staged.add(chunk)
        if (isOwned) giveChunk(chunk)
        // Who reads it refuses what is too long.
        if (counted.bytes > bodyLimit) for (const part of staged.parts()) this.push(part)
        done()
      })
      if (stopWaiting === undefined) done(noRoom(response))
    },
    flush(done) {
      if (!isOver) for (const part of staged.parts()) this.push(part)
      done()
    },
  })
}

/** The error of a body of which no more is read: its connection ends with the answer. */
function noRoom(response: ServerResponse): WeirError {
  response.shouldKeepAlive = false
  return noRoomError('body')
}

/** Passes the bytes of a decoder on, and fails with FRAME_TOO_LARGE when they are far more than were sent. */
function ratioLimit(decoder: Gunzip | Inflate): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      const isFree = bytes <= FREE_BYTES || bytes <= decoder.bytesWritten * MOST_RATIO
      if (isFree) done(null, chunk)
      else done(ratioError('body'))
    },
  })
}

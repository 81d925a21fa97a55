import { Transform } from 'node:stream'
import { createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../core/errors.ts'
import { addJsonParser } from '../../http/json-parser.ts'

/** Media types whose bodies a route gets as bytes. */
const RAW_TYPES = [
  'text/csv',
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/octet-stream',
] as const

/** Bytes that a body may have after decompression whatever it had before. */
const FREE_BYTES = 1024 * 1024
/** Most bytes that a byte may become. */
const MOST_RATIO = 100
const RATIO_SENTENCE = `the body has more than ${MOST_RATIO} times as many bytes after decompression; send it without compression`

/** Content codings of bodies. */
const DECODERS = { gzip: createGunzip, deflate: createInflate } as const

/**
 * Accepts bodies of JSON, CSV, NDJSON and bytes, and compressed bodies of every type. The body limit of a
 * route counts bytes after decompression, so that a small body cannot fill the memory.
 */
export function addBodyParsers(app: FastifyInstance): void {
  addJsonParser(app)
  app.addContentTypeParser([...RAW_TYPES], { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body)
  })
  app.addHook('preParsing', async (request, _reply, payload) => {
    const coding = request.headers['content-encoding']
    if (coding === undefined || coding === 'identity') return payload
    if (!Object.hasOwn(DECODERS, coding)) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `the content coding "${coding.slice(0, 40)}" is not known; send gzip, deflate or none`,
      )
    }
    const decoder = DECODERS[coding as keyof typeof DECODERS]()
    // No one may read the body: of an unknown path, after a refusal, beyond the limit. An error without a
    // listener would end the process.
    decoder.on('error', () => {})
    const limited = payload.pipe(decoder).pipe(ratioLimit(decoder))
    limited.on('error', () => {})
    const decoded = Object.assign(limited, { receivedEncodedLength: 0 })
    payload.on('data', (chunk: Buffer) => {
      decoded.receivedEncodedLength += chunk.length
    })
    payload.on('error', (error) => limited.destroy(error))
    decoder.on('error', (error) => limited.destroy(error))
    return decoded
  })
}

/** Passes the bytes of a decoder on, and fails with FRAME_TOO_LARGE when they are far more than were sent. */
function ratioLimit(decoder: Gunzip | Inflate): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      const isFree = bytes <= FREE_BYTES || bytes <= decoder.bytesWritten * MOST_RATIO
      if (isFree) done(null, chunk)
      else done(new WeirError('FRAME_TOO_LARGE', RATIO_SENTENCE))
    },
  })
}

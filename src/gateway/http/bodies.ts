import { createGunzip, createInflate } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../core/errors.ts'

/** Media types whose bodies a route gets as bytes. */
const RAW_TYPES = [
  'text/csv',
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/octet-stream',
] as const

/** Content codings of bodies. */
const DECODERS = { gzip: createGunzip, deflate: createInflate } as const

/**
 * Accepts bodies of CSV, NDJSON and bytes, and compressed bodies of every type. The body limit of a
 * route counts bytes after decompression, so that a small body cannot fill the memory.
 */
export function addBodyParsers(app: FastifyInstance): void {
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
    const decoded = Object.assign(payload.pipe(decoder), { receivedEncodedLength: 0 })
    payload.on('data', (chunk: Buffer) => {
      decoded.receivedEncodedLength += chunk.length
    })
    payload.on('error', (error) => decoder.destroy(error))
    return decoded
  })
}

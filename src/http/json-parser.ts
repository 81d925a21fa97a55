import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientAddressOf } from './client-address.ts'
import type { FairTurns } from './fair-turns.ts'
import { JSON_LIMITS, type JsonLimits, jsonTextOf } from './json-body.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Limits of a body of JSON. @default JSON_LIMITS */
    readonly json?: JsonLimits
  }
}

type Done = (error: Error | null, body?: unknown) => void

/** Bodies of more bytes are read in turns. */
const LARGE_BYTES = 16 * 1024

/** Reads bodies of `application/json` within the limits of their route, large ones in the turn of their client. */
export function addJsonParser(app: FastifyInstance, turns: FairTurns): void {
  const read = jsonReaderOf(app)
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (request, body, done) => {
      if (body.length < LARGE_BYTES) read(request, body, done)
      else turns.run(clientAddressOf(request), 'large', () => read(request, body, done))
    },
  )
}

/** What reads a body of JSON within the limits of its route. */
export function jsonReaderOf(app: FastifyInstance) {
  const parse = app.getDefaultJsonParser('error', 'error')
  return (request: FastifyRequest, body: Buffer, done: Done): void => {
    let text: string
    try {
      text = jsonTextOf(body, request.routeOptions.config.json ?? JSON_LIMITS)
    } catch (error) {
      done(error as Error)
      return
    }
    void parse(request, text, done)
  }
}

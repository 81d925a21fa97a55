import type { FastifyInstance } from 'fastify'
import { JSON_LIMITS, type JsonLimits, jsonTextOf } from './json-body.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Limits of a body of JSON. @default JSON_LIMITS */
    readonly json?: JsonLimits
  }
}

/** Reads bodies of `application/json` within the limits of their route. */
export function addJsonParser(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (request, body, done) => {
      let text: string
      try {
        text = jsonTextOf(body, request.routeOptions.config.json ?? JSON_LIMITS)
      } catch (error) {
        done(error as Error)
        return
      }
      void parse(request, text, done)
    },
  )
}

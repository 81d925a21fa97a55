import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addOpenApi, type DocumentOptions } from '../openapi/document.ts'

/** Options of the routes of the document. */
export interface DocumentRoutesOptions extends DocumentOptions {
  /** An application with the same routes; nothing is asked of them. */
  readonly withoutRoutes: () => FastifyInstance
  readonly addRoutes: (app: FastifyInstance) => Promise<void>
}

/** A page that a browser loads without a token; it holds no data. */
const PUBLIC = { config: { isPublic: true } }

/**
 * Adds `/openapi.json` and the page to try the routes, `/docs`. Both are made at the first request: a job
 * whose port no one explores pays nothing.
 */
export function documentRoutes(app: FastifyInstance, options: DocumentRoutesOptions): void {
  let pages: Promise<FastifyInstance> | undefined
  const opened = (): Promise<FastifyInstance> => {
    pages ??= openPages(options)
    return pages
  }
  const page = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { statusCode, headers, rawPayload } = await (await opened()).inject({ url: request.url })
    const fields = Object.entries(headers).filter(([name]) => SENT.has(name))
    reply.code(statusCode).headers(Object.fromEntries(fields))
    return await reply.send(rawPayload)
  }
  app.get('/openapi.json', async () => (await opened()).swagger())
  app.get('/docs', PUBLIC, page)
  app.get('/docs/*', PUBLIC, page)
  app.addHook('onClose', async () => await (await pages)?.close())
}

/** Fields of the page's answers that are sent on. */
const SENT = new Set(['content-type', 'cache-control', 'location'])

async function openPages(options: DocumentRoutesOptions): Promise<FastifyInstance> {
  const { withoutRoutes, addRoutes, version, needsToken } = options
  const app = withoutRoutes()
  await addOpenApi(app, { version, needsToken })
  await app.register(addRoutes)
  await app.ready()
  return app
}

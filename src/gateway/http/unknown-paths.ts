import type { FastifyInstance } from 'fastify'
import { KnownPaths, pathOf } from '../../http/known-paths.ts'
import { sendProblem } from './error-handlers.ts'
import { httpProblem } from './problem.ts'

/**
 * Answers requests that no route takes, before their body is read: 405 with the methods of the path, 404
 * for a path that does not exist. Add it before the routes, and after the check of tokens.
 */
export function addUnknownPathHandler(app: FastifyInstance): void {
  const paths = KnownPaths.of(app)
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done()
    const { method } = request
    const path = pathOf(request.url)
    const methods = paths.methodsOf(path)
    const shown = path.slice(0, 200)
    if (methods.length === 0) {
      const detail = `there is no ${method} ${shown}; /docs lists the routes`
      return void sendProblem(reply, httpProblem(404, 'NOT_FOUND', detail))
    }
    const allow = methods.join(', ')
    const detail = `${shown} takes ${allow}, not ${method}`
    void sendProblem(reply.header('allow', allow), httpProblem(405, 'METHOD_NOT_ALLOWED', detail))
  })
}

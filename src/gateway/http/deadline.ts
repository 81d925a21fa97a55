import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { PROBLEM_TYPE, problemOf } from './problem.ts'
import { DEADLINE_HEADER, deadlineOf } from './query-options.ts'

/** Time after the deadline in which the work of a route may still say by itself why it is late, ms. */
const GRACE_MS = 250

/**
 * Ends every request that names a deadline, whatever its route waits for: a route that has not answered soon after it
 * is answered with DEADLINE_EXCEEDED. Its work goes on, because nothing can take it back.
 */
export function addDeadlines(app: FastifyInstance, clock: Clock): void {
  app.addHook('onRequest', (request, reply, done) => {
    const text = request.headers[DEADLINE_HEADER]
    if (text === undefined) return done()
    const deadlineMs = deadlineOf(String(text))
    const late = (): void => {
      if (reply.sent) return
      const message = `${request.method} ${request.url.slice(0, 200)} was not answered within ${deadlineMs} ms; it is not known whether it is done`
      const problem = problemOf(new WeirError('DEADLINE_EXCEEDED', message))
      // What the route answers later goes nowhere.
      reply.hijack()
      const headers = { ...reply.getHeaders(), 'content-type': PROBLEM_TYPE }
      reply.raw.writeHead(problem.status, headers as OutgoingHttpHeaders)
      reply.raw.end(JSON.stringify(problem))
    }
    reply.raw.once('close', clock.after(deadlineMs + GRACE_MS, late))
    done()
  })
}

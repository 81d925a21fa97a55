import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Span } from '../../core/tracing/span.ts'
import type { Tracer } from '../../core/tracing/tracer.ts'

/**
 * Makes a span of every sampled request, below the span in its `traceparent`; what the request asks of the
 * job is below it. A span has the route's pattern: paths have ids of users.
 */
export function addTracing(app: FastifyInstance, tracer: Tracer): void {
  const spans = new WeakMap<FastifyRequest, Span>()
  app.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const { traceparent } = request.headers
    const header = Array.isArray(traceparent) ? undefined : traceparent
    const span = tracer.request(`${request.method} ${route}`, header, {
      'http.request.method': request.method,
      'http.route': route,
    })
    if (span === undefined) {
      done()
      return
    }
    spans.set(request, span)
    tracer.run(span, done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request)
    if (span !== undefined) {
      span.set('http.response.status_code', reply.statusCode)
      if (reply.statusCode >= 500) span.fail(String(reply.statusCode))
      span.end()
    }
    done()
  })
}

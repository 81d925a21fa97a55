import type { FastifyInstance } from 'fastify'
import { asWeirError, WeirError } from '../../core/errors.ts'
import { statesOf } from '../http/objects.ts'
import type { ApplicationRequest, ApplicationRoute } from '../port/application.ts'
import type { ServedState } from '../port/services.ts'
import { RequestStates, readsOf } from './states.ts'

const PART_SCHEMA = { type: 'string', minLength: 1, maxLength: 1024 } as const

/** Adds the paths of an application. They read only, so that they need the role `read`, and the right to their states. */
export function addApplicationRoutes(
  app: FastifyInstance,
  routes: readonly ApplicationRoute[],
  state: ServedState,
): void {
  const reads = readsOf(state)
  for (const route of routes) {
    const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
    app.get<{ Params: ApplicationRequest['params']; Querystring: ApplicationRequest['query'] }>(
      route.path,
      {
        config: { role: 'read', on: statesOf(...route.states) },
        schema: {
          tags: ['application'],
          summary: route.summary,
          ...(names.length === 0
            ? {}
            : {
                params: {
                  type: 'object',
                  required: names,
                  properties: Object.fromEntries(names.map((name) => [name, PART_SCHEMA])),
                },
              }),
          querystring: { type: 'object', properties: { ...route.query } },
          response: { 200: { description: 'The answer of the application.', ...route.answer } },
        },
      },
      async ({ params, query }) =>
        await answerOf(route, { params, query }, new RequestStates(route, reads)),
    )
  }
}

/** Rejects with UNKNOWN_KEY for a path without an answer, OPERATOR_FAILED where the function throws. */
async function answerOf(
  route: ApplicationRoute,
  request: ApplicationRequest,
  states: RequestStates,
): Promise<unknown> {
  let answer: unknown
  try {
    answer = await route.respond(request, states)
  } catch (error) {
    throw asWeirError(error, 'OPERATOR_FAILED', `the function of the route ${route.path} failed`)
  }
  if (answer === undefined) {
    throw new WeirError('UNKNOWN_KEY', `the route ${route.path} has no answer for these parameters`)
  }
  return answer
}

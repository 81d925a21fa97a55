import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { LARGEST_RATING, type Rating } from '../../models/ratings/rating.ts'
import type { ObjectsOf } from '../http/objects.ts'
import { DEADLINE_HEADER, type QueryOptionHeaders, WRITE_HEADERS } from '../http/query-options.ts'
import { OBSERVED_ID_SCHEMA } from '../http/schemas.ts'
import { sessionOf, writtenFields, writtenPlaces } from '../http/session.ts'
import { CSV_SCHEMA, observationsOfCsv, requireObservations } from '../observations/body.ts'
import type { ObservationTopic, ServedState } from '../port/services.ts'
import { EMPTY_ANSWER } from './list-route.ts'
import { STRENGTH } from './path.ts'

/** Largest body of `/ingest`, in bytes after decompression. */
const MAX_INGEST_BYTES = 16 * 1024 * 1024

const PREF_PATH = '/pref/:user/:item'

const PREF_PARAMS = {
  type: 'object',
  required: ['user', 'item'],
  properties: { user: OBSERVED_ID_SCHEMA, item: OBSERVED_ID_SCHEMA },
} as const

const STRENGTH_CONTENT = {
  'text/plain': {
    schema: { type: 'string', pattern: '^-?[0-9]{1,15}(\\.[0-9]{1,15})?$', example: '4.5' },
  },
}
const CSV_CONTENT = { 'text/csv': { schema: CSV_SCHEMA, example: '1,50,4.5\n' } }

/** Adds the routes that append ratings: `/pref` for one, `/ingest` for CSV. */
export function addWriteRoutes(
  app: FastifyInstance,
  observations: ObservationTopic,
  state: Pick<ServedState, 'routing'>,
): void {
  const append = async (
    ratings: readonly Rating[],
    request: FastifyRequest<{ Headers: QueryOptionHeaders }>,
    reply: FastifyReply,
  ): Promise<void> => {
    const positions = await observations.append(ratings, request.headers[DEADLINE_HEADER])
    const stored = { topic: observations.topic, positions }
    reply.headers(writtenFields(writtenPlaces(stored, state.routing, sessionOf(request))))
  }
  const on = onTopic(observations)
  // The body is the strength as text; clients send it under any media type.
  void app.register(async (routes) => {
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
    addPrefRoute(routes, on, append)
    addIngestRoute(routes, on, append)
  })
  addDeleteRoute(app, observations)
}

/** The topic, on which a token needs the right to write. */
function onTopic({ topic }: ObservationTopic): ObjectsOf {
  return () => ({ kind: 'topic', name: topic })
}

/** Appends ratings within the deadline of a request, and says in the reply where they are. */
type Append = (
  ratings: readonly Rating[],
  request: FastifyRequest<{ Headers: QueryOptionHeaders }>,
  reply: FastifyReply,
) => Promise<void>

function addPrefRoute(routes: FastifyInstance, on: ObjectsOf, append: Append): void {
  routes.post<{
    Headers: QueryOptionHeaders
    Params: { readonly user: string; readonly item: string }
    Body: Buffer | undefined
  }>(
    PREF_PATH,
    {
      config: {
        on,
        document: {
          problems: [507],
          hasOptionalBody: true,
          schema: { body: { content: STRENGTH_CONTENT } },
        },
      },
      schema: {
        tags: ['recommender'],
        summary: 'Append a rating; the body is its strength, 1 without a body',
        params: PREF_PARAMS,
        headers: WRITE_HEADERS,
        response: EMPTY_ANSWER,
      },
    },
    async (request, reply) => {
      const rating = strengthOf(request.body)
      await append([{ ...request.params, rating, timestamp: NO_TIMESTAMP }], request, reply)
      return reply.code(200).send()
    },
  )
}

function addIngestRoute(routes: FastifyInstance, on: ObjectsOf, append: Append): void {
  routes.post<{ Body: Buffer | undefined; Headers: QueryOptionHeaders }>(
    '/ingest',
    {
      bodyLimit: MAX_INGEST_BYTES,
      config: {
        on,
        document: {
          problems: [507],
          schema: { body: { content: CSV_CONTENT } },
        },
      },
      schema: {
        tags: ['recommender'],
        summary: 'Append ratings: lines of user,item,strength and, if known, Unix seconds',
        headers: WRITE_HEADERS,
        response: EMPTY_ANSWER,
      },
    },
    async (request, reply) => {
      const ratings = await observationsOfCsv(request.body ?? Buffer.alloc(0))
      requireObservations(ratings)
      await append(ratings, request, reply)
      return reply.code(200).send()
    },
  )
}

function addDeleteRoute(app: FastifyInstance, observations: ObservationTopic): void {
  app.delete(
    PREF_PATH,
    {
      config: { on: onTopic(observations), document: { problems: [501] } },
      schema: {
        tags: ['recommender'],
        params: PREF_PARAMS,
        summary: 'Refused: a rating that was learned cannot be taken back',
        response: EMPTY_ANSWER,
      },
    },
    async () => {
      throw new WeirError(
        'UNSUPPORTED',
        'a rating that was learned cannot be taken back; append a new rating of the pair',
      )
    },
  )
}

function strengthOf(body: Buffer | undefined): number {
  const text = body?.toString('utf8').trim() ?? ''
  if (text === '') return 1
  requireArgument(
    STRENGTH.test(text),
    `the body is the strength, a decimal number below ${LARGEST_RATING}, not "${text.slice(0, 40)}"`,
  )
  return Number(text)
}

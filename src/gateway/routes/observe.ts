import type { FastifyInstance } from 'fastify'
import { JSON_LIMITS, type JsonLimits } from '../../http/json-body.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { DEADLINE_HEADER, type QueryOptionHeaders, WRITE_HEADERS } from '../http/query-options.ts'
import { sessionOf, WRITTEN_HEADERS, writtenFields, writtenPlaces } from '../http/session.ts'
import {
  CSV_SCHEMA,
  type JsonObservation,
  OBSERVATION_SCHEMA,
  observationOf,
  observationsOfCsv,
  observationsOfNdjson,
  requireObservations,
} from '../observations/body.ts'
import type { ObservationTopic, ServedState } from '../port/services.ts'

/** The route that takes observations; a hot one (`gateway/hot`). */
export const OBSERVE_ROUTE = '/v1/observe'

/** Most observations of one JSON array. */
const MAX_OBSERVATIONS = 100_000

const NO_BODY = Buffer.alloc(0)

/** Largest body of observations, in bytes after decompression. */
const MAX_BODY_BYTES = 16 * 1024 * 1024

/** JSON of the most observations, each with four fields. */
const JSON_OF_OBSERVATIONS: JsonLimits = {
  ...JSON_LIMITS,
  values: 5 * MAX_OBSERVATIONS + 1,
  containers: MAX_OBSERVATIONS + 1,
  keys: 4 * MAX_OBSERVATIONS,
}

const JSON_BODY = {
  schema: {
    anyOf: [
      OBSERVATION_SCHEMA,
      { type: 'array', minItems: 1, maxItems: MAX_OBSERVATIONS, items: OBSERVATION_SCHEMA },
    ],
  },
}

/** Only JSON is validated by a schema; the other bodies are bytes, and their lines are checked when they are read. */
const BODY = {
  content: {
    'application/json': JSON_BODY,
    'application/x-ndjson': { schema: {} },
    'text/csv': { schema: {} },
  },
}

const DOCUMENTED_BODY = {
  content: {
    'application/json': JSON_BODY,
    'application/x-ndjson': {
      schema: { type: 'string', description: 'An observation as JSON a line.' },
      example: '{"user":"1","item":"50","rating":4.5}\n',
    },
    'text/csv': { schema: CSV_SCHEMA, example: '1,50,4.5\n' },
  },
}

/** Adds the route that takes observations: one, many, CSV or NDJSON. */
export function addObserveRoute(
  app: FastifyInstance,
  topic: ObservationTopic,
  state: Pick<ServedState, 'routing'>,
): void {
  app.post<{
    Body: Buffer | JsonObservation | readonly JsonObservation[] | undefined
    Headers: QueryOptionHeaders
  }>(
    OBSERVE_ROUTE,
    {
      bodyLimit: MAX_BODY_BYTES,
      config: {
        json: JSON_OF_OBSERVATIONS,
        on: () => ({ kind: 'topic', name: topic.topic }),
        document: { problems: [507], schema: { body: DOCUMENTED_BODY } },
      },
      schema: {
        tags: ['observations'],
        summary: 'Append observations',
        description:
          'Answers when all observations are durable in the topic. A body with an invalid observation is refused whole.',
        headers: WRITE_HEADERS,
        body: BODY,
        response: {
          200: {
            description: 'All are stored.',
            type: 'object',
            headers: WRITTEN_HEADERS,
            properties: {
              accepted: { type: 'integer' },
              positions: {
                type: 'array',
                description:
                  'A position of each partition of the topic that has some of them, at the last one or behind it.',
                items: {
                  type: 'object',
                  properties: { partition: { type: 'integer' }, offset: { type: 'integer' } },
                },
              },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const isValid = request.compileValidationSchema(OBSERVATION_SCHEMA, 'body')
      const observations = await observationsOf(
        request.body ?? NO_BODY,
        request.headers['content-type'] ?? '',
        (value): value is JsonObservation => isValid(value),
      )
      requireObservations(observations)
      const positions = await topic.append(observations, request.headers[DEADLINE_HEADER])
      const stored = { topic: topic.topic, positions }
      reply.headers(writtenFields(writtenPlaces(stored, state.routing, sessionOf(request))))
      return { accepted: observations.length, positions }
    },
  )
}

async function observationsOf(
  body: Buffer | JsonObservation | readonly JsonObservation[],
  contentType: string,
  isValid: (value: unknown) => value is JsonObservation,
): Promise<Rating[]> {
  if (Buffer.isBuffer(body)) {
    return await (contentType.startsWith('text/csv')
      ? observationsOfCsv(body)
      : observationsOfNdjson(body, isValid))
  }
  return Array.isArray(body) ? body.map(observationOf) : [observationOf(body as JsonObservation)]
}

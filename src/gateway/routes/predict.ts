import type { FastifyInstance } from 'fastify'
import { jsonReaderOf } from '../../http/json-parser.ts'
import { requireMayOf } from '../../http/principal.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import type { EncodedPairs } from '../../wire/encoded-pairs.ts'
import { FrameWriter } from '../../wire/frame-writer.ts'
import type { Answer, Prediction } from '../../wire/model-reader.ts'
import { type IntervalPrediction, readInterval } from '../../wire/rating-interval.ts'
import { namedState } from '../http/objects.ts'
import {
  QUERY_OPTION_SCHEMAS,
  type QueryOptionHeaders,
  queryOptionsOf,
} from '../http/query-options.ts'
import {
  DEFAULT_STATE,
  ENVELOPE_SCHEMA,
  ID_SCHEMA,
  PROBLEM_SCHEMA,
  STATE_SCHEMA,
} from '../http/schemas.ts'
import type { ServedState } from '../port/services.ts'
import { MAX_PAIRS, scanPairs } from './pairs-scanner.ts'
import { predictionBody } from './prediction-body.ts'
import { predictionsBody } from './predictions-body.ts'

/** The route that predicts one pair; a hot one (`gateway/hot`). */
export const PREDICT_ROUTE = '/v1/predict/:user/:item'

/** The route that predicts a batch of pairs; a hot one. */
export const PAIRS_ROUTE = '/v1/predict'

const JSON_TYPE = 'application/json; charset=utf-8'

const PREDICTION_PROPERTIES = {
  score: { type: ['number', 'null'], description: 'Null where the rows give no finite number.' },
  userCold: {
    type: 'boolean',
    description: 'The model does not know the user: the mean row stands in.',
  },
  itemCold: {
    type: 'boolean',
    description: 'The model does not know the item: the mean row stands in.',
  },
} as const

const INTERVAL_SHARE_SCHEMA = {
  type: 'number',
  exclusiveMinimum: 0,
  exclusiveMaximum: 1,
  description:
    'Also answer where the rating is with this probability, for example 0.95. 501 where the version has no variances.',
} as const

const INTERVAL_SCHEMA = {
  type: 'object',
  description: 'With the parameter `interval`: where the rating is.',
  properties: {
    share: { type: 'number', description: 'Probability that it is there.' },
    low: { type: 'number' },
    high: { type: 'number' },
    deviation: {
      type: 'number',
      description: 'Standard deviation of the rating around its score.',
    },
  },
} as const

/** Adds the routes that predict ratings: one pair, and batches of pairs. */
export function addPredictRoutes(app: FastifyInstance, state: ServedState): void {
  addPairRoute(app, state)
  app.register(async (scope) => {
    addPairsParser(scope)
    addBatchRoute(scope, state)
  })
}

function addPairRoute(app: FastifyInstance, state: ServedState): void {
  app.get<{
    Params: { readonly user: string; readonly item: string }
    Querystring: { readonly state: string; readonly version?: number; readonly interval?: number }
    Headers: QueryOptionHeaders
  }>(
    PREDICT_ROUTE,
    {
      config: { on: namedState, document: { problems: [501] } },
      schema: {
        tags: ['predictions'],
        summary: 'Predict the rating of a user for an item',
        params: {
          type: 'object',
          required: ['user', 'item'],
          properties: { user: ID_SCHEMA, item: ID_SCHEMA },
        },
        querystring: {
          type: 'object',
          properties: {
            state: STATE_SCHEMA,
            version: QUERY_OPTION_SCHEMAS.version,
            interval: INTERVAL_SHARE_SCHEMA,
          },
        },
        headers: QUERY_OPTION_SCHEMAS.headers,
        response: {
          200: {
            description: 'The prediction.',
            type: 'object',
            properties: {
              user: ID_SCHEMA,
              item: ID_SCHEMA,
              ...PREDICTION_PROPERTIES,
              interval: INTERVAL_SCHEMA,
              envelope: ENVELOPE_SCHEMA,
            },
          },
        },
      },
    },
    async ({ params, query, headers }, reply) => {
      const options = { ...queryOptionsOf(headers, query.version), ...MEAN_IF_UNKNOWN }
      const [left, right] = [alsKey(params.user, 'U'), alsKey(params.item, 'I')]
      const { interval: share } = query
      const answer: Answer<Prediction & Partial<IntervalPrediction>> =
        share === undefined
          ? await state.predictWithEnvelope(query.state, left, right, options)
          : await readInterval(state, { state: query.state, left, right, share }, options)
      if (!answer.ok) throw answer.error
      reply.type(JSON_TYPE)
      return predictionBody(params, answer)
    },
  )
}

function addBatchRoute(app: FastifyInstance, state: ServedState): void {
  app.post<{
    Body: PairsBody
    Headers: QueryOptionHeaders
  }>(
    PAIRS_ROUTE,
    {
      config: { role: 'read' },
      schema: {
        tags: ['predictions'],
        summary: 'Predict the ratings of many pairs of user and item',
        headers: QUERY_OPTION_SCHEMAS.headers,
        body: {
          type: 'object',
          required: ['pairs'],
          additionalProperties: false,
          properties: {
            state: STATE_SCHEMA,
            version: QUERY_OPTION_SCHEMAS.version,
            pairs: {
              type: 'array',
              minItems: 1,
              maxItems: MAX_PAIRS,
              description: 'Pairs `[user, item]`.',
              items: {
                type: 'array',
                minItems: 2,
                maxItems: 2,
                items: ID_SCHEMA,
              },
            },
          },
        },
        response: {
          200: {
            description: 'The predictions, in the order of the pairs; each is a score or an error.',
            type: 'object',
            properties: {
              predictions: {
                type: 'array',
                items: {
                  type: 'object',
                  properties: {
                    ...PREDICTION_PROPERTIES,
                    modelVersion: ENVELOPE_SCHEMA.properties.modelVersion,
                    error: PROBLEM_SCHEMA,
                  },
                },
              },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { body, headers } = request
      requireMayOf(request, 'read', { kind: 'state', name: body.state })
      const options = { ...queryOptionsOf(headers, body.version), ...MEAN_IF_UNKNOWN }
      const predictions = await state.predictPairs(body.state, encodedPairsOf(body), options)
      reply.type(JSON_TYPE)
      return Buffer.copyBytesFrom(predictionsBody(predictions))
    },
  )
}

/** Body of a batch of predictions. */
interface PairsBody {
  readonly state: string
  readonly version?: number
  readonly pairs: readonly (readonly [user: string, item: string])[]
}

/** Some pairs that the schema accepts. */
const VALID: PairsBody['pairs'] = [['user', 'item']]

/**
 * A body whose pairs were read as keys. The scanner accepts only what the schema of the route accepts, so
 * the schema, which cannot see the keys, is given other pairs.
 */
class ScannedBody implements PairsBody {
  readonly state = DEFAULT_STATE
  readonly pairs = VALID
  readonly #keys: EncodedPairs

  constructor(keys: EncodedPairs) {
    this.#keys = keys
  }

  get keys(): EncodedPairs {
    return this.#keys
  }
}

/** Parses bodies of JSON: pairs in their usual form as keys, everything else as other routes do. */
function addPairsParser(app: FastifyInstance): void {
  const readJson = jsonReaderOf(app)
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (request, body, done) => {
      const keys = scanPairs(body)
      if (keys === undefined) readJson(request, body, done)
      else done(null, new ScannedBody(keys))
    },
  )
}

/** The keys of the pairs of a body. */
function encodedPairsOf(body: PairsBody): EncodedPairs {
  if (body instanceof ScannedBody) return body.keys
  const writer = new FrameWriter(32 * body.pairs.length)
  for (const [user, item] of body.pairs) {
    writer.key(alsKey(user, 'U'))
    writer.key(alsKey(item, 'I'))
  }
  return { count: body.pairs.length, bytes: writer.written() }
}

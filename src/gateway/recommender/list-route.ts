import type { FastifyInstance, FastifySchema } from 'fastify'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { boostsIn } from '../../models/item-tags.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import { statesOf } from '../http/objects.ts'
import {
  QUERY_OPTION_SCHEMAS,
  type QueryOptionHeaders,
  queryOptionsOf,
} from '../http/query-options.ts'
import { DEFAULT_STATE } from '../http/schemas.ts'
import { type ListEntry, sendList } from './listing.ts'
import { idsOfPath } from './path.ts'
import type { RecommendationPage } from './recommender.ts'

/** Most results of one list, those skipped included: later ones cannot be asked for. */
const MAX_RESULTS = 1000

/** Results of a list whose request does not say how many. */
export const DEFAULT_HOW_MANY = 10

/** Longest text of the tags of a rule: 64 of them, each of 64 bytes. */
const MAX_RULE_LENGTH = 64 * 65

const PAGE_SCHEMA = {
  howMany: { type: 'integer', minimum: 1, maximum: MAX_RESULTS, default: DEFAULT_HOW_MANY },
  offset: { type: 'integer', minimum: 0, maximum: MAX_RESULTS - 1, default: 0 },
  rescorerParams: {
    type: 'string',
    maxLength: 1000,
    description:
      'A text for the rescorer of the gateway (weir gateway --rescorer FILE); refused where there is none, and of lists that are not rescored.',
  },
} as const

/** A tag and its factor. */
const BOOST = '[^,]+:(?:100|[1-9]?[0-9](?:[.][0-9]+)?)'

const RULES_SCHEMA = {
  anyOf: {
    type: 'string',
    maxLength: MAX_RULE_LENGTH,
    description: 'Only items with at least one of these tags: DE,FR.',
  },
  noneOf: {
    type: 'string',
    maxLength: MAX_RULE_LENGTH,
    description: 'Only items with none of these tags: SOLD_OUT.',
  },
  boost: {
    type: 'string',
    maxLength: MAX_RULE_LENGTH,
    pattern: `^(?:${BOOST}(?:,${BOOST}){0,7})?$`,
    description:
      'Factors by tag, 0.01 to 100, of up to eight tags: NEW:1.2,SALE:1.1. They multiply a score of 0 or more, and divide a lower one.',
  },
  diversity: {
    type: 'number',
    minimum: 0,
    maximum: 1,
    default: 0,
    description:
      'How much the items differ: 0 is the order of the scores, 1 looks at likeness alone. At most 100 items.',
  },
} as const

const KNOWN_ITEMS_SCHEMA = {
  considerKnownItems: {
    type: 'boolean',
    description:
      'Whether items that the user rated may be in the list; needs histories to be false.',
  },
} as const

const list = (items: object) => ({
  200: {
    description: 'The list.',
    content: {
      'text/csv': { schema: { type: 'string' } },
      'text/plain': { schema: { type: 'string' } },
      'application/json': { schema: { type: 'array', items } },
    },
  },
})

const NUMBER = { type: ['number', 'null'] }
/** Answers of a list of ids with values. */
export const SCORED = list({
  type: 'object',
  required: ['id', 'value'],
  properties: { id: { type: 'string' }, value: NUMBER },
})
/** Answers of a list of ids with counts. */
export const COUNTED = list({
  type: 'object',
  required: ['id', 'count'],
  properties: { id: { type: 'string' }, count: { type: 'integer' } },
})
/** Answers of a list of numbers. */
export const NUMBERS = list(NUMBER)
/** Answers of a list of ids. */
export const IDS = list({ type: 'string' })

/** Answer of a route without a body. */
export const EMPTY_ANSWER = {
  200: { description: 'Done; the body is empty.', type: 'null' },
} as const

/** Names of the ids of a path in the document, each with its schema. */
export type PathIds = Readonly<Record<string, object>>

/** What a list route is, besides its path. */
export interface ListRoute {
  readonly summary: string
  readonly response: typeof SCORED
  /** Ids after the path. @default none */
  readonly ids?: PathIds
  /** Whether further ids of the last kind may follow. @default false */
  readonly isOpen?: boolean
  /** States that it reads. @default that of the model */
  readonly states?: readonly string[]
  /** Whether `howMany` and `offset` select a page. @default true */
  readonly isPaged?: boolean
  /** Whether the rescorer of the gateway changes it. @default false */
  readonly isRescored?: boolean
  /** The list for the ids of the path. */
  answer(
    ids: readonly string[],
    page: RecommendationPage,
    options: QueryOptions,
  ): Promise<readonly ListEntry[]>
}

/** A request for a list. */
export interface ListRequest {
  readonly Querystring: RecommendationPage & {
    readonly version?: number
    readonly anyOf?: string
    readonly noneOf?: string
    readonly boost?: string
    readonly diversity?: number
  }
  readonly Headers: QueryOptionHeaders
}

/** Adds a route that answers with a list. */
export function addListRoute(app: FastifyInstance, path: string, route: ListRoute): void {
  const { ids = {}, isOpen = false } = route
  const names = Object.keys(ids)
  const hasIds = names.length > 0
  const documentedPath = [path, ...names.map((name) => `:${name}`)].join('/')
  const params = { type: 'object', required: names, properties: ids }
  app.get<ListRequest>(
    hasIds ? `${path}/*` : path,
    {
      config: {
        query: ['rescorerParams'],
        on: statesOf(...(route.states ?? [DEFAULT_STATE])),
        document: {
          path: documentedPath,
          problems: [404, 406, 501],
          ...(hasIds ? { schema: { params } } : {}),
        },
      },
      schema: schemaOf(path, route),
    },
    async (request, reply) => {
      const { query, headers } = request
      if (query.rescorerParams !== undefined && route.isRescored !== true) throw notRescored(path)
      const options = queryOptionsOf(headers, query.version)
      const given = hasIds ? idsOfPath(request.url, 1) : []
      requireArgument(
        isOpen || given.length === names.length,
        `${path} takes ${names.join(' and ')}: ${documentedPath}`,
      )
      return sendList(request, reply, await route.answer(given, pageOf(query), options))
    },
  )
}

/** What requests of the route may hold, and what it answers. */
function schemaOf(path: string, { summary, response, isOpen, isPaged }: ListRoute): FastifySchema {
  return {
    tags: ['recommender'],
    summary,
    ...(isOpen === true ? { description: 'Further ids follow as further parts of the path.' } : {}),
    querystring: {
      type: 'object',
      properties: {
        ...(isPaged === false ? {} : PAGE_SCHEMA),
        ...(path.startsWith('/recommend') ? KNOWN_ITEMS_SCHEMA : {}),
        ...(path.startsWith('/recommend') || path === '/similarity' ? RULES_SCHEMA : {}),
        version: QUERY_OPTION_SCHEMAS.version,
      },
    },
    headers: QUERY_OPTION_SCHEMAS.headers,
    response,
  }
}

/** The part of a page inside the first results that can be asked for: a later page is shorter, or empty. */
function pageOf(query: ListRequest['Querystring']): RecommendationPage {
  const { howMany = 0, offset = 0, considerKnownItems, anyOf, noneOf, boost } = query
  const { diversity = 0, rescorerParams } = query
  return {
    howMany: Math.min(howMany, MAX_RESULTS - offset),
    offset,
    ...(considerKnownItems === undefined ? {} : { considerKnownItems }),
    where: { anyOf: tagsOf(anyOf), noneOf: tagsOf(noneOf), boost: boostsIn(tagsOf(boost)) },
    diversity,
    ...(rescorerParams === undefined ? {} : { rescorerParams }),
  }
}

/** The tags of a rule, which commas separate: no tag has one. */
function tagsOf(rule = ''): readonly string[] {
  return rule.split(',').filter((tag) => tag !== '')
}

function notRescored(path: string): WeirError {
  return new WeirError(
    'UNSUPPORTED',
    `the list of ${path} is not rescored; leave rescorerParams out and filter or order the list in your application`,
  )
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { statesOf } from '../http/objects.ts'
import { QUERY_OPTION_SCHEMAS, queryOptionsOf } from '../http/query-options.ts'
import { DEFAULT_STATE, ID_SCHEMA } from '../http/schemas.ts'
import type { GatewayServices, ServedState } from '../port/services.ts'
import { requireLiveModel } from '../routes/live-model.ts'
import { COUNTS, KNOWN_ITEMS } from './histories.ts'
import {
  addListRoute,
  COUNTED,
  EMPTY_ANSWER,
  IDS,
  type ListRequest,
  type ListRoute,
  NUMBERS,
  type PathIds,
  SCORED,
} from './list-route.ts'
import { sendList } from './listing.ts'
import { ITEM_STRENGTH_SCHEMA, itemStrengths } from './path.ts'
import type { Recommender } from './recommender.ts'
import { addWriteRoutes } from './write-routes.ts'

/** Path of the route of the best items of a user. */
export const RECOMMEND_ROUTE = '/recommend/*'

const USER: PathIds = { user: ID_SCHEMA }
const ITEM: PathIds = { item: ID_SCHEMA }
const ITEM_STRENGTH: PathIds = { item: ITEM_STRENGTH_SCHEMA }
const TO: PathIds = { to: ID_SCHEMA }

/**
 * Adds the routes of a recommender with the names and meaning of Oryx 2's: lists are CSV, or JSON to a
 * client that accepts it. docs/reference/http.md has the differences.
 */
export function addRecommenderRoutes(
  app: FastifyInstance,
  { state, observations }: GatewayServices,
  recommender: Recommender,
): void {
  new RecommenderRoutes(app, state, recommender).add()
  if (observations !== undefined) addWriteRoutes(app, observations, state)
}

/** Routes by path. */
type ListRoutes = Readonly<Record<string, ListRoute>>

/** The routes that answer with a list. */
function listRoutes(recommender: Recommender): ListRoutes {
  return {
    ...recommendationRoutes(recommender),
    ...estimateRoutes(recommender),
    ...similarityRoutes(recommender),
    ...historyRoutes(recommender),
    '/popularRepresentativeItems': {
      summary: 'For each factor of the model the item with the largest value',
      response: IDS,
      isPaged: false,
      answer: (_ids, _page, options) => recommender.popularRepresentativeItems(options),
    },
  }
}

/** The best items of users, groups and strangers. */
function recommendationRoutes(recommender: Recommender): ListRoutes {
  return {
    '/recommend': {
      summary: 'The best items of a user',
      response: SCORED,
      isRescored: true,
      ids: USER,
      answer: (ids, page, options) => recommender.recommend(ids[0]!, page, options),
    },
    '/recommendToMany': {
      summary: 'The best items of a group of users',
      response: SCORED,
      isRescored: true,
      ids: USER,
      isOpen: true,
      answer: (ids, page, options) => recommender.recommendToMany(ids, page, options),
    },
    '/recommendToAnonymous': {
      summary: 'The best items of someone who rated a few: ITEM or ITEM=STRENGTH',
      response: SCORED,
      isRescored: true,
      ids: ITEM_STRENGTH,
      isOpen: true,
      answer: (ids, page, options) =>
        recommender.recommendToAnonymous(itemStrengths(ids), page, options),
    },
    '/recommendWithContext': {
      summary: 'The best items of a user with a few more ratings: USER, then ITEM or ITEM=STRENGTH',
      response: SCORED,
      isRescored: true,
      ids: { ...USER, ...ITEM_STRENGTH },
      isOpen: true,
      answer: ([user, ...items], page, options) =>
        recommender.recommendWithContext(
          { user: user!, items: itemStrengths(items) },
          page,
          options,
        ),
    },
  }
}

/** Predicted ratings. */
function estimateRoutes(recommender: Recommender): ListRoutes {
  return {
    '/estimate': {
      summary: 'Predicted ratings: USER, then items',
      response: NUMBERS,
      ids: { ...USER, ...ITEM },
      isOpen: true,
      isPaged: false,
      answer: ([user, ...items], _, options) => recommender.estimate(user!, items, options),
    },
    '/estimateForAnonymous': {
      summary:
        'The predicted rating of an item by someone who rated a few: ITEM, then ITEM or ITEM=STRENGTH',
      response: NUMBERS,
      ids: { ...TO, ...ITEM_STRENGTH },
      isOpen: true,
      isPaged: false,
      answer: async ([to, ...items], _, options) => [
        await recommender.estimateForAnonymous(to!, itemStrengths(items), options),
      ],
    },
  }
}

/** Items by their likeness to others. */
function similarityRoutes(recommender: Recommender): ListRoutes {
  return {
    '/similarityToItem': {
      summary: 'The cosine of items with one item: ITEM, then items',
      response: NUMBERS,
      ids: { ...TO, ...ITEM },
      isOpen: true,
      isPaged: false,
      answer: ([to, ...items], _, options) => recommender.similarityToItem(to!, items, options),
    },
    '/similarity': {
      summary: 'The items most similar to some: items',
      response: SCORED,
      isRescored: true,
      ids: ITEM,
      isOpen: true,
      answer: (ids, page, options) => recommender.similarity(ids, page, options),
    },
    '/because': {
      summary: 'The items of a user most similar to an item: USER/ITEM',
      states: [DEFAULT_STATE, KNOWN_ITEMS],
      response: SCORED,
      ids: { ...USER, ...ITEM },
      answer: ([user, item], page, options) =>
        recommender.because({ user: user!, item: item! }, page, options),
    },
  }
}

/** What users rated. */
function historyRoutes(recommender: Recommender): ListRoutes {
  return {
    '/knownItems': {
      summary: 'The items that a user rated: USER',
      states: [KNOWN_ITEMS],
      response: IDS,
      ids: USER,
      isPaged: false,
      answer: (ids, _, options) => recommender.knownItems(ids[0]!, options),
    },
    '/mostSurprising': {
      summary: 'The items of a user with the lowest predictions: USER',
      states: [DEFAULT_STATE, KNOWN_ITEMS],
      response: SCORED,
      ids: USER,
      answer: (ids, page, options) => recommender.mostSurprising(ids[0]!, page, options),
    },
    '/mostPopularItems': {
      summary: 'The items with most users',
      states: [COUNTS.items],
      response: COUNTED,
      answer: (_, page, options) => recommender.largestCounts('items', page, options),
    },
    '/mostActiveUsers': {
      summary: 'The users with most items',
      states: [COUNTS.users],
      response: COUNTED,
      answer: (_, page, options) => recommender.largestCounts('users', page, options),
    },
  }
}

class RecommenderRoutes {
  private readonly app: FastifyInstance
  private readonly state: ServedState
  private readonly recommender: Recommender

  constructor(app: FastifyInstance, state: ServedState, recommender: Recommender) {
    this.app = app
    this.state = state
    this.recommender = recommender
  }

  add(): void {
    for (const [path, route] of Object.entries(listRoutes(this.recommender))) {
      addListRoute(this.app, path, route)
    }
    this.addReady()
    this.addAllIds('/user/allIDs', 'U')
    this.addAllIds('/item/allIDs', 'I')
  }

  private addReady(): void {
    this.app.get(
      '/ready',
      {
        config: { role: 'public' },
        schema: {
          tags: ['recommender'],
          summary: 'Whether a model is live',
          response: EMPTY_ANSWER,
        },
      },
      async (_request, reply) => {
        await requireLiveModel(this.state)
        return reply.code(200).send()
      },
    )
  }

  private addAllIds(path: string, kind: 'U' | 'I'): void {
    this.app.get<ListRequest>(
      path,
      {
        config: { on: statesOf(DEFAULT_STATE), document: { problems: [404, 406, 501] } },
        schema: {
          tags: ['recommender'],
          summary: 'All ids that the model knows',
          description: 'The consistency `checkpoint` is refused: a scan reads live rows.',
          querystring: {
            type: 'object',
            properties: { version: QUERY_OPTION_SCHEMAS.version },
          },
          headers: QUERY_OPTION_SCHEMAS.headers,
          response: IDS,
        },
      },
      async (request, reply) => await this.sendIds(request, reply, kind),
    )
  }

  private async sendIds(
    request: FastifyRequest<ListRequest>,
    reply: FastifyReply,
    kind: 'U' | 'I',
  ): Promise<FastifyReply> {
    const ids: string[] = []
    const options = queryOptionsOf(request.headers, request.query.version)
    for await (const page of this.recommender.allIds(kind, options)) ids.push(...page)
    return sendList(request, reply, ids)
  }
}

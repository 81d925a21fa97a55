import type { QueryOptions } from '../../wire/model-reader.ts'
import { DEFAULT_DEADLINE_MS } from '../http/query-options.ts'
import { DEFAULT_STATE } from '../http/schemas.ts'
import { listText } from '../recommender/listing.ts'
import type { Recommender } from '../recommender/recommender.ts'
import type { HotExchange } from './connection.ts'
import type { RecommendRequest } from './request-reader.ts'
import type { HotRoute } from './route.ts'

/** The object of all hot recommendations. */
const MODEL = { kind: 'state', name: DEFAULT_STATE } as const

const OPTIONS: QueryOptions = {
  consistency: { level: 'live' },
  deadlineMs: DEFAULT_DEADLINE_MS,
}

/** Answers requests for the best items of a user. */
export class HotRecommendations {
  private readonly recommender: Pick<Recommender, 'recommend'>
  private readonly route: HotRoute

  constructor(recommender: Pick<Recommender, 'recommend'>, route: HotRoute) {
    this.recommender = recommender
    this.route = route
  }

  /** Answers a request with a bearer token. */
  answer(exchange: HotExchange, request: RecommendRequest, token: string | undefined): void {
    const who = this.route.admit(exchange, token, { role: 'read', on: MODEL })
    if (who !== undefined) void this.recommend(exchange, request)
  }

  private async recommend(exchange: HotExchange, request: RecommendRequest): Promise<void> {
    const { recommender, route } = this
    const { user, howMany, type } = request
    try {
      const items = await recommender.recommend(user, { howMany, offset: 0 }, OPTIONS)
      route.send(exchange, 200, route.text.list(type, listText(type, items)))
    } catch (thrown) {
      route.fail(exchange, thrown)
    }
  }
}

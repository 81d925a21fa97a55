import { count, distinct, lastN, mean, quantile, sum } from '../../src/index.ts'

/** A purchase of a user. */
export interface Purchase {
  readonly user: string
  readonly film: string
  readonly price: number
  /** Event time, ms since 1970. */
  readonly time: number
}

/** The features of a user: the job and the export have the same definition. */
export const FEATURES = {
  purchases_1h: count().over('1h'),
  spent_24h: sum((purchase: Purchase) => purchase.price).over('24h'),
  mean_7d: mean((purchase: Purchase) => purchase.price).over('7d'),
  films_7d: distinct((purchase: Purchase) => purchase.film).over('7d'),
  p90_24h: quantile(0.9, (purchase: Purchase) => purchase.price).over('24h'),
  last: lastN(3, (purchase: Purchase) => purchase.film).over('7d'),
}

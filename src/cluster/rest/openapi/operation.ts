import { AGGREGATIONS } from '../json/metrics.ts'
import { objectOf, type Schema, TEXT } from './schema.ts'

/** What the OpenAPI document says of a route, besides the parameters and the body that the route checks. */
export interface Operation {
  readonly summary: string
  /** The answer's JSON; undefined for a route that always refuses, and for an answer that is not JSON. */
  readonly answer?: Schema
  /** Status of success. @default 200 */
  readonly status?: number
  /** Media type of an answer that is not JSON. */
  readonly type?: string
  /** Query parameters that the route reads without a schema. */
  readonly query?: Schema
  /** Statuses of errors that not every route of its kind has. */
  readonly errors?: readonly number[]
  /** Whether it needs no token. @default false */
  readonly isPublic?: boolean
}

/** Operations by method and path. */
export type Operations = Readonly<Record<string, Operation>>

/** A parameter that lists names: `a,b,c`. */
export function namesOf(description: string): Schema {
  return { ...TEXT, description }
}

const GET = namesOf('names of metrics, a,b,c; without it the answer has all names')
const NAME = `(?:${AGGREGATIONS.join('|')})`

/** Parameters of metrics of one thing. */
export const METRICS_QUERY = objectOf({}, { get: GET })

/** Parameters of metrics of many things; `chosen` names those that count. */
export function aggregatedQuery(chosen: string): Schema {
  const agg = {
    ...namesOf(`how values are put together: ${AGGREGATIONS.join(', ')}; all but skew if missing`),
    pattern: `^,*(?:${NAME}(?:,+|$))*$`,
  }
  return objectOf({}, { get: GET, agg, [chosen]: namesOf('ids of those that count, a,b,c') })
}

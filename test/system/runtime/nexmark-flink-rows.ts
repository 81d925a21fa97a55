import type { Compared } from './nexmark-stream.ts'

/** What the rows of Flink of one query are known by. */
export interface FlinkRows {
  readonly rows: number
  /** Digest of what a job must have equal: of the last row of each key where rows replace each other. */
  readonly compared: string
}

/** The rows of Flink on the first 300,000 events. The whole campaign runs Flink and compares these with its rows. */
export const FLINK_ROWS: Readonly<Record<Compared, FlinkRows>> = {
  q3: { rows: 1773, compared: '6e59e70fa70d5676' },
  q4: { rows: 17776, compared: '04a5bbc059b638eb' },
  q5: { rows: 19, compared: '3acba436750cb998' },
  q7: { rows: 3, compared: '5d6b51d648d9f17d' },
  q8: { rows: 2536, compared: '6e782a9800120274' },
  q9: { rows: 17776, compared: '040ab7714cd4e536' },
  q11: { rows: 5906, compared: 'f5f1ce38cd32c1c1' },
  q17: { rows: 276000, compared: 'adbdeb4a89eeaa99' },
  q18: { rows: 265406, compared: '50e3c80750b08f9c' },
  q19: { rows: 435957, compared: '5922ea8b2802096b' },
  q20: { rows: 47721, compared: '5b3205e6e03efb6f' },
}

/** Digests of all rows of Flink, sorted, of the queries whose rows replace each other. */
export const ALL_FLINK_ROWS = {
  q17: '630a4f8cba797b91',
  q18: '1d1d2d14f64374cc',
  q19: '1560b683d459fb28',
} as const

import type { Clock } from '../core/clock.ts'
import type { Answer, QueryOptions } from '../wire/model-reader.ts'
import type { CacheOptions } from './options.ts'

/** Found rows only. */
type RowAnswer = Extract<Answer<Float32Array>, { ok: true }>

interface CachedRow {
  readonly answer: RowAnswer
  /** Monotonic ms. */
  readonly receivedAt: number
}

/** A request for rows. */
export interface RowsRequest {
  readonly state: string
  readonly keys: readonly string[]
  readonly options: QueryOptions
}

/** Whether rows from a cache satisfy the consistency of a request. */
export function mayBeCached(options: QueryOptions): boolean {
  const level = options.consistency?.level ?? 'live'
  return level === 'live' || level === 'bounded'
}

/**
 * Rows that were read recently, by state, requested version and key. Each entry has the version that
 * answered: an answer of a newer version invalidates the rows of older ones. The row used longest ago is
 * dropped first. Rows are shared: callers must not write into them.
 */
export class RowCache {
  private readonly rows = new Map<string, CachedRow>()
  private readonly versions = new Map<string, number>()
  private readonly options: CacheOptions
  private readonly clock: Clock

  constructor(options: CacheOptions, clock: Clock) {
    this.options = options
    this.clock = clock
  }

  /** Cached rows. */
  get size(): number {
    return this.rows.size
  }

  /** Rows in the order of the keys; `fetch` gets the keys that are not cached. */
  async read(
    { state, keys, options }: RowsRequest,
    fetch: (missing: readonly string[]) => Promise<readonly Answer<Float32Array>[]>,
  ): Promise<Answer<Float32Array>[]> {
    const { consistency, version = 0 } = options
    const maxAgeMs = consistency?.level === 'bounded' ? consistency.maxAgeMs : undefined
    const answers = keys.map((key) => this.get(state, version, key, maxAgeMs))
    const missing = keys.filter((_, i) => answers[i] === undefined)
    const fetched = await fetch(missing)
    missing.forEach((key, i) => {
      this.put(state, version, key, fetched[i]!)
    })
    let next = 0
    return answers.map((answer) => answer ?? fetched[next++]!)
  }

  /** A row of at most this age, and of at most the cache's own limit. Version 0 is the live one. */
  get(
    state: string,
    version: number,
    key: string,
    maxAgeMs: number = this.options.maxAgeMs,
  ): RowAnswer | undefined {
    const id = idOf(state, version, key)
    const row = this.rows.get(id)
    if (row === undefined) return undefined
    const age = this.clock.monotonicMs() - row.receivedAt
    const isStale = version === 0 && row.answer.envelope.modelVersion !== this.versions.get(state)
    if (isStale || age > this.options.maxAgeMs) {
      this.rows.delete(id)
      return undefined
    }
    const answered = row.answer.envelope.ageMs
    if (age + Math.max(0, answered) > maxAgeMs && maxAgeMs < this.options.maxAgeMs) return undefined
    this.rows.delete(id)
    this.rows.set(id, row)
    return {
      ok: true,
      value: row.answer.value,
      envelope: { ...row.answer.envelope, ageMs: answered < 0 ? answered : answered + age },
    }
  }

  /** Caches an answer; failures are not cached. */
  put(state: string, version: number, key: string, answer: Answer<Float32Array>): void {
    if (!answer.ok) return
    if (version === 0) this.versions.set(state, answer.envelope.modelVersion)
    const id = idOf(state, version, key)
    this.rows.delete(id)
    this.rows.set(id, { answer, receivedAt: this.clock.monotonicMs() })
    if (this.rows.size <= this.options.maxRows) return
    for (const oldest of this.rows.keys()) {
      this.rows.delete(oldest)
      return
    }
  }
}

function idOf(state: string, version: number, key: string): string {
  return `${version}\n${state}\n${key}`
}

import type { KeyPair } from './target.ts'

/** The keys of requests. */
export interface KeySource {
  /** Keys of the next request. */
  next(): readonly KeyPair[]
  /** The next request has the first keys again. */
  restart(): void
}

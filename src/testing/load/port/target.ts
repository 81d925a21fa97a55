import type { WeirError } from '../../../core/errors.ts'

/** Ids of one question: a user and an item, or a whole key in `user`. */
export interface KeyPair {
  readonly user: string
  readonly item: string
}

/** How one request ended. */
export type Outcome =
  /** Answered; `isCold` when a mean row stood in for a missing one. */
  | { readonly kind: 'ok'; readonly isCold: boolean }
  /** Refused because the server has too much work. */
  | { readonly kind: 'rejected'; readonly error: WeirError }
  /** Failed in any other way. */
  | { readonly kind: 'failed'; readonly error: WeirError }

/** What load is put on: a server, asked in one way. */
export interface LoadTarget extends AsyncDisposable {
  /** Sends one request with these keys. Never rejects. */
  send(keys: readonly KeyPair[]): Promise<Outcome>
}

/** The outcome of an answered request. */
export const ANSWERED: Outcome = { kind: 'ok', isCold: false }

/** The outcome of a request that was answered from a mean row. */
export const ANSWERED_COLD: Outcome = { kind: 'ok', isCold: true }

/** The outcome of a request that ended with an error. */
export function outcomeOf(error: WeirError): Outcome {
  return { kind: error.code === 'OVERLOADED' ? 'rejected' : 'failed', error }
}

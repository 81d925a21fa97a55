/*
 * A join of a left table with a right one by a foreign key of the left rows, in three operators:
 *
 *   left changes --> subscriptions --- left rows with the number of their subscription ----> results --> joined rows
 *                     (left key)  \                                                    /    (left key)
 *                                  `- open, close --> answers (foreign key) -- answers `
 *                                      right changes --^
 *
 * The foreign key of a row can change while an answer of the old one is on its way through another subtask. So each
 * subscription has a number, larger than all before it, and the results take an answer only where its number is that of
 * the row. (Kafka Streams compares a hash of the left row in its place.)
 */

/** The number of rows that have no foreign key. Others count from 1. */
export const NO_SUBSCRIPTION = 0

/** A left row, or null when it is gone, with the number of its subscription. */
export interface LeftRow<K, A> {
  readonly key: K
  readonly value: A | null
  readonly subscription: number
}

/** The begin or end of a subscription of a left row to a right one. */
export interface SubscriptionChange<K, FK> {
  readonly foreignKey: FK
  readonly key: K
  readonly subscription: number
  readonly kind: 'open' | 'close'
}

/** The right row of a subscription, or null where there is none; `isLast`: the subscription is closed. */
export interface SubscriptionAnswer<K, B> {
  readonly key: K
  readonly subscription: number
  readonly row: B | null
  readonly isLast: boolean
}

import { WeirError } from '../../../core/errors.ts'
import type { OwnConnection } from '../client/broker-connections.ts'
import type { KafkaCluster } from '../client/cluster.ts'
import type { KafkaConnection } from '../client/connection.ts'
import { kafkaErrorEntry } from '../client/error-table.ts'
import { apiVersionsV0 } from '../client/library.ts'
import { checkVersions, type RequiredVersion } from '../client/versions.ts'

/** Requests of members beside those of all clients. JoinGroup 9 says whether a leader that returned must assign. */
const REQUIRED: readonly RequiredVersion[] = [
  ['JoinGroup', 11, 9],
  ['Heartbeat', 12, 4],
  ['LeaveGroup', 13, 5],
  ['SyncGroup', 14, 5],
]

/** A request of a member to the coordinator of its group. */
export interface MemberCall<Answer> {
  /** The operation in words, for messages. */
  readonly doing: string
  /** Time in which a failed request is repeated, ms. */
  readonly timeoutMs: number
  request(connection: KafkaConnection): Promise<Answer>
}

/**
 * Requests of one member to the coordinator of its group. They have connections of their own: a broker answers the
 * requests of a connection in order, and one that waits for other members would hold all others up.
 */
export class CoordinatorCalls {
  private readonly cluster: KafkaCluster
  private readonly groupId: string
  private readonly own: OwnConnection
  private readonly onTrouble: () => void
  private readonly checked = new WeakSet<KafkaConnection>()
  private readonly closing = Promise.withResolvers<never>()
  private closed = false

  /**
   * `answerTimeoutMs`: time after which a broker that does not answer is taken for a lost one. `onTrouble` is called
   * when the coordinator did not answer, or is another one.
   */
  constructor(
    cluster: KafkaCluster,
    groupId: string,
    answerTimeoutMs: number,
    onTrouble: () => void = () => undefined,
  ) {
    this.cluster = cluster
    this.onTrouble = onTrouble
    this.groupId = groupId
    this.own = cluster.own(answerTimeoutMs)
    this.closing.promise.catch(() => undefined)
  }

  /**
   * Sends a request, and repeats it while the coordinator moves, loads or does not answer. An answer with another error
   * number is returned. Throws CONNECTOR_FAILED after the timeout, ILLEGAL_STATE after `close`.
   */
  async call<Answer extends { readonly errorCode: number }>({
    doing,
    timeoutMs,
    request,
  }: MemberCall<Answer>): Promise<Answer> {
    const answer = this.cluster.callCoordinator({
      kind: 'group',
      key: this.groupId,
      doing,
      timeoutMs,
      on: this.own,
      request: async (connection) => {
        if (this.closed) await this.refuse()
        await this.check(connection)
        try {
          const answered = await request(connection)
          if (isRetriable(answered.errorCode)) this.onTrouble()
          return answered
        } catch (error) {
          if (this.closed) await this.refuse()
          this.onTrouble()
          throw error
        }
      },
      errorOf: ({ errorCode }) => (isRetriable(errorCode) ? errorCode : 0),
    })
    return await Promise.race([answer, this.closing.promise])
  }

  /** Ends the requests that wait, which are then repeated: the coordinator may be another one. */
  async repeat(): Promise<void> {
    await this.cluster.closeOwn(this.own)
  }

  /** Closes the connections. Calls that wait fail. */
  async close(): Promise<void> {
    this.closed = true
    this.closing.reject(closedError(this.groupId))
    await this.cluster.closeOwn(this.own)
  }

  /** A connection may have been opened while the first ones were closed. */
  private async refuse(): Promise<never> {
    await this.cluster.closeOwn(this.own)
    throw closedError(this.groupId)
  }

  private async check(connection: KafkaConnection): Promise<void> {
    if (this.checked.has(connection)) return
    const { apiKeys } = await connection.call(apiVersionsV0.api, '', '')
    checkVersions(`the coordinator of group "${this.groupId}"`, apiKeys, REQUIRED, '3.2')
    this.checked.add(connection)
  }
}

function isRetriable(errorCode: number): boolean {
  return kafkaErrorEntry(errorCode).kind === 'retriable'
}

function closedError(groupId: string): WeirError {
  return new WeirError('ILLEGAL_STATE', `the member of group "${groupId}" was closed`)
}

import type { JobExecution } from '../../../runtime/job/execution.ts'
import type { OwnerMap } from '../decisions/assignment-data.ts'
import type { MemberState } from '../decisions/member-state.ts'

/** What a process knows of its group. */
export interface Membership {
  readonly state: MemberState
  /** Id in the group; empty before it has joined. */
  readonly memberId: string
  readonly isLeader: boolean
  /** Whether it hands over what it has, and gets nothing. */
  readonly isDraining: boolean
  /** Owners by the newest assignment. */
  readonly map: OwnerMap
  /** Its place in the map; undefined before an assignment. */
  readonly self: number | undefined
}

/** A process of a job, as commands see it. */
export interface OperatedProcess {
  /** The executions of its partitions, by partition. */
  readonly executions: ReadonlyMap<number, JobExecution>
  readonly membership: Membership
  /**
   * Asks for another round. A draining process hands over what it has, and gets nothing until it is asked without; one
   * that does not drain takes its share, also of what it has given back.
   */
  rebalance(isDraining: boolean): void
  /**
   * Ends the process with its partitions, without a look at who could take them: each with a last checkpoint, or all at
   * once without.
   */
  end(withCheckpoint: boolean): Promise<void>
}

import type { JobSnapshot } from './job-snapshot.ts'

/*
 * A job in many processes as the REST interface shows it. Each process says what it runs; the process that was asked
 * puts the reports of all together. Reports are plain data, because they cross process boundaries. Times are in ms.
 */

/** State of a job partition. */
export type PartitionState =
  /** It is given to a process, which restores it. */
  | 'restoring'
  | 'running'
  /** Its owner writes a last checkpoint of it. */
  | 'handing over'
  /** Its error was followed by a restart in the same process. */
  | 'restarting'
  /** No process owns it. */
  | 'without owner'
  /** Its owner does not answer. */
  | 'unknown'

/** A job partition, by the process that runs it. */
export interface PartitionReport {
  readonly partition: number
  readonly state: PartitionState
  /** Its newest complete checkpoint; null before the first one of this owner. */
  readonly checkpointId: number | null
  readonly checkpointAgeMs: number | null
}

/** A process, by itself. */
export interface ProcessReport {
  /** Id in the group; empty before it has joined. */
  readonly member: string
  /** Its place among the processes that the leader named; null before it has an assignment. */
  readonly place: number | null
  /** Generation of its newest assignment; null while it is no member. */
  readonly generation: number | null
  /** `joining`, `stable`, `releasing`, `rejoining`, `leaving`, `fenced`, `refused` or `left`. */
  readonly phase: string
  /** Whether it assigns partitions. */
  readonly isLeader: boolean
  /** Whether it hands over what it has and gets nothing. */
  readonly isDraining: boolean
  /** Version of its build. */
  readonly version: string
  /** Slot threads. */
  readonly slots: number
  /** URL of its REST interface. */
  readonly rest: string
  readonly partitions: readonly PartitionReport[]
  /** What it runs of the job: subtasks have the numbers of their partitions. */
  readonly job: JobSnapshot
}

/** A process of a job, by one that asked it. */
export interface ProcessRow {
  /** Id in the group, or its address while it does not answer. */
  readonly member: string
  readonly rest: string | null
  readonly status: 'answers' | 'silent'
  /** Why it is silent; null for one that answers. */
  readonly reason: string | null
  readonly generation: number | null
  readonly phase: string | null
  readonly isLeader: boolean
  readonly isDraining: boolean
  readonly version: string | null
  /** 0 where it is not known. */
  readonly slots: number
  readonly host: string | null
  readonly pid: number | null
  /** Job partitions that it owns, ascending. */
  readonly owned: readonly number[]
}

/** A job partition and its owner. */
export interface PartitionRow extends PartitionReport {
  /** `member` of its owner; null for none. */
  readonly owner: string | null
}

/** Who owns what. */
export interface AssignmentView {
  readonly applicationId: string
  /** Newest generation of the processes that answer; null while there is none. */
  readonly generation: number | null
  readonly processes: readonly ProcessRow[]
  readonly assignment: readonly PartitionRow[]
}

/** What a process is asked to do. */
export type ProcessAction =
  /** Hand over what it has, and take nothing. */
  | 'drain'
  /** Take its share again, and what it has given back. */
  | 'balance'
  /** Write a last checkpoint of what it has, and end. */
  | 'stop'
  /** End without a checkpoint. */
  | 'cancel'

/** A job in many processes, of which this process is one. Methods throw WeirError. */
export interface ScaledJob {
  /** This process alone. */
  report(): Promise<ProcessReport>
  /** All processes. */
  assignment(): Promise<AssignmentView>
  /** Lets this process alone do something; resolves when it is done, for `drain` and `balance` when it has begun. */
  act(action: ProcessAction): Promise<void>
  /**
   * Drains the process with this member id, or the beginning of one, or REST address; undefined: gives all processes
   * their share. Returns the ids of the processes that were asked. Throws NOT_FOUND, and ILLEGAL_STATE for the last one.
   */
  rebalance(drain: string | undefined): Promise<readonly string[]>
}

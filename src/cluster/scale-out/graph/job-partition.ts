/**
 * One of the parts of a job that is owned by one process and moves between processes: a contiguous range of
 * key groups, the same partition of each exchange topic, and some splits of each source.
 */
export interface JobPartition {
  /** 0 <= partition < partitions. */
  readonly partition: number
  readonly partitions: number
}

/** Name of a job partition's part of the job, for transactions and logs. */
export function partName(applicationId: string, partition: number): string {
  return `${applicationId}-${partition}`
}

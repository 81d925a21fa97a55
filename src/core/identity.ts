import { requireArgument } from './errors.ts'

/** A type that is told apart from its representation by a name only the compiler sees. */
export type Branded<Base, Name extends string> = Base & { readonly __brand: Name }

/** Position of a record in a partition, 0 <= offset <= 2^53 - 1 (64 bits on disk). */
export type Offset = Branded<number, 'Offset'>
/** Number of a partition of a topic, 0 <= partition < 2^31. */
export type PartitionId = Branded<number, 'PartitionId'>
/** Bucket of keys that moves between subtasks as a whole, 0 <= group < max parallelism. */
export type KeyGroup = Branded<number, 'KeyGroup'>
/** Number of a checkpoint within a job, counted from 1. */
export type CheckpointId = Branded<number, 'CheckpointId'>
/** How often a job was started, counted from 1; messages of an older attempt are ignored. */
export type Attempt = Branded<number, 'Attempt'>
/** 32 hexadecimal digits that name one submission of a job. */
export type JobId = Branded<string, 'JobId'>
/** User-given or generated stable name of an operator; state is matched by it on restore. */
export type OperatorUid = Branded<string, 'OperatorUid'>
/** Number of a model version, 1 <= version < 2^31. */
export type ModelVersion = Branded<number, 'ModelVersion'>

const isCount = (n: number): boolean => Number.isSafeInteger(n) && n >= 0

/** Checks and brands an offset. Throws INVALID_ARGUMENT. */
export function offset(n: number): Offset {
  requireArgument(isCount(n), `an offset is a whole number from 0 to 2^53 - 1, not ${n}`)
  return n as Offset
}

/** Checks and brands a partition number. Throws INVALID_ARGUMENT. */
export function partitionId(n: number): PartitionId {
  requireArgument(isCount(n) && n < 2 ** 31, `a partition is a whole number from 0, not ${n}`)
  return n as PartitionId
}

/** Checks and brands a checkpoint number. Throws INVALID_ARGUMENT. */
export function checkpointId(n: number): CheckpointId {
  requireArgument(isCount(n) && n >= 1, `a checkpoint id is a whole number from 1, not ${n}`)
  return n as CheckpointId
}

/** Checks and brands an attempt number. Throws INVALID_ARGUMENT. */
export function attempt(n: number): Attempt {
  requireArgument(isCount(n) && n >= 1, `an attempt is a whole number from 1, not ${n}`)
  return n as Attempt
}

/** Checks and brands a job id. Throws INVALID_ARGUMENT. */
export function jobId(text: string): JobId {
  requireArgument(/^[0-9a-f]{32}$/.test(text), `a job id is 32 hexadecimal digits, not "${text}"`)
  return text as JobId
}

/** Checks and brands an operator uid. Throws INVALID_ARGUMENT. */
export function operatorUid(text: string): OperatorUid {
  requireArgument(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(text),
    `an operator uid is 1 to 128 letters, digits, ".", "_" or "-", not "${text}"`,
  )
  return text as OperatorUid
}

/** Checks and brands a model version. Throws INVALID_ARGUMENT. */
export function modelVersion(n: number): ModelVersion {
  requireArgument(
    isCount(n) && n >= 1 && n < 2 ** 31,
    `a model version is counted from 1, not ${n}`,
  )
  return n as ModelVersion
}

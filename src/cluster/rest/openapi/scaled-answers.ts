import { FLAG, ID, listOf, objectOf, orNull, type Schema, TEXT, WHOLE } from './schema.ts'

const STATE: Schema = {
  enum: ['restoring', 'running', 'handing over', 'restarting', 'without owner', 'unknown'],
}
const PARTITION: Readonly<Record<string, Schema>> = {
  partition: WHOLE,
  state: STATE,
  checkpointId: orNull(WHOLE),
  checkpointAgeMs: orNull(WHOLE),
}

/** `/weir/jobs/:jobid/assignment`. */
export const ASSIGNMENT = objectOf({
  applicationId: TEXT,
  generation: orNull(WHOLE),
  processes: listOf(
    objectOf({
      member: TEXT,
      rest: orNull(TEXT),
      status: { enum: ['answers', 'silent'] },
      reason: orNull(TEXT),
      generation: orNull(WHOLE),
      phase: orNull(TEXT),
      isLeader: FLAG,
      isDraining: FLAG,
      version: orNull(TEXT),
      slots: WHOLE,
      host: orNull(TEXT),
      pid: orNull(WHOLE),
      owned: listOf(WHOLE),
    }),
  ),
  assignment: listOf(objectOf({ ...PARTITION, owner: orNull(TEXT) })),
})

/** `/weir/jobs/:jobid/process`. */
export const PROCESS_REPORT = objectOf({
  member: TEXT,
  place: orNull(WHOLE),
  generation: orNull(WHOLE),
  phase: TEXT,
  isLeader: FLAG,
  isDraining: FLAG,
  version: TEXT,
  slots: WHOLE,
  rest: TEXT,
  partitions: listOf(objectOf(PARTITION)),
  // What processes say to each other: no part of it is for other programs.
  job: { type: 'object', required: ['id'], properties: { id: ID } },
})

/** The answer of `/weir/jobs/:jobid/rebalance`. */
export const REBALANCED = objectOf({ asked: listOf(TEXT) })

import { randomUUID } from 'node:crypto'
import { isWeirError, WeirError } from '../../../core/errors.ts'
import type { S3BucketClient, S3CreateOutcome } from '../../../files/s3/client.ts'

/** What of `S3BucketClient` the try needs. */
export type ConditionalWrites = Pick<S3BucketClient, 'create' | 'delete'>

const PROBE = new TextEncoder().encode(
  'Weir tries whether conditional writes exclude each other.\n',
)

/**
 * Tries whether a server keeps the condition of a write that must not overwrite: two creates of one object race, and a
 * third one comes later. `root` is what the keys begin with. Throws UNSUPPORTED when more than one of them succeeds, or
 * the server refuses the condition: without it, two processes would run one job on the same checkpoints.
 */
export async function requireConditions(client: ConditionalWrites, root: string): Promise<void> {
  const key = `${root}.weir-probe-${randomUUID()}`
  const create = (): Promise<S3CreateOutcome> => client.create(key, PROBE)
  try {
    const outcomes = await Promise.all([create(), create()])
    outcomes.push(await create())
    const created = outcomes.filter((outcome) => outcome === 'created').length
    if (created !== 1)
      throw ignored(`${created} of ${outcomes.length} creates of one object succeeded`)
  } catch (cause) {
    const isRefused =
      isWeirError(cause) && [400, 405, 501].includes(Number(cause.details['status']))
    throw isRefused ? ignored(cause.message) : cause
  } finally {
    await client.delete(key)
  }
}

function ignored(what: string): WeirError {
  return new WeirError(
    'UNSUPPORTED',
    `this server of S3 does not keep the condition "If-None-Match: *" of a write (${what}), so two processes could run one job on the same checkpoints; use AWS, or a server that answers 412, as new releases of MinIO, Ceph and R2 do, or checkpoints in HDFS or a folder`,
  )
}

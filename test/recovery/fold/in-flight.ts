import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { decodeInFlight } from '../../../src/runtime/channel/in-flight-format.ts'
import { readManifest } from '../../../src/runtime/checkpoint/manifest/read.ts'
import { FileCheckpointStorage } from '../../../src/runtime/checkpoint/storage/file.ts'

/** A complete checkpoint of a job. */
export interface StoredCheckpoint {
  readonly id: number
  /** Records in flight. */
  readonly inFlight: number
}

/** The newest complete checkpoint of a job; undefined without one. */
export async function newestCheckpoint(
  root: string,
  jobId: string,
): Promise<StoredCheckpoint | undefined> {
  const storage = new FileCheckpointStorage(root)
  const ids = readdirSync(join(root, jobId))
    .flatMap((name) => (name.startsWith('chk-') ? [Number(name.slice(4))] : []))
    .sort((a, b) => b - a)
  for (const id of ids) {
    try {
      return { id, inFlight: await recordsIn(storage, `${jobId}/chk-${id}`) }
    } catch {
      // It was not complete when its process was killed.
    }
  }
  return undefined
}

async function recordsIn(storage: FileCheckpointStorage, folder: string): Promise<number> {
  const { operators } = await readManifest(storage, folder)
  const states = operators.flatMap(({ operatorState }) => operatorState.flat())
  return states
    .filter(({ redistribution }) => redistribution === 'channels')
    .flatMap(({ entries }) => entries)
    .reduce((sum, entry) => sum + decodeInFlight(entry).records.length, 0)
}

import { statSync } from 'node:fs'
import { WeirError } from '../../core/errors.ts'
import { parseStorageUrl } from '../../core/storage-url.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import {
  type InspectedCheckpoint,
  type InspectionDepth,
  inspectCheckpoints,
} from '../../runtime/checkpoint/coordinator/inspect.ts'
import { loadStorage } from '../../runtime/checkpoint/storage/load.ts'
import { restoreFromOf } from '../../runtime/job/restore-from.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { bytesText } from '../text/bytes.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { configurationOf, SERVING_OPTIONS } from './serving.ts'

/** Flags of the commands that look at checkpoint storage. */
export const CHECKPOINT_STORAGE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  set: SERVING_OPTIONS['set']!,
  ...DATA_DIR_OPTION,
}

/** What a command inspects. */
export interface Inspection {
  readonly flags: Flags
  readonly io: CommandIo
  /** A checkpoint or savepoint, or a folder of them; undefined for all of storage. */
  readonly path: string | undefined
  readonly depth: InspectionDepth
}

/**
 * Prints each checkpoint and savepoint, and of each damaged file where and what; returns the exit code:
 * 1 if something is damaged. Throws FILE_NOT_FOUND if storage, or the path in it, does not exist.
 */
export async function printInspection({ flags, io, path, depth }: Inspection): Promise<number> {
  const url =
    configurationOf(flags)['execution.checkpointing.dir'] ??
    dataDirectory(flags.string('data-dir')).checkpoints
  requireFolder(url)
  const storage = await loadStorage(url)
  let found = 0
  let damaged = 0
  try {
    const folder = path === undefined ? '' : String(restoreFromOf(path, url))
    for await (const checkpoint of inspectCheckpoints(storage, folder, depth)) {
      found += 1
      if (checkpoint.damaged.length > 0) damaged += 1
      if (flags.boolean('json')) io.out(JSON.stringify(jsonOf(checkpoint)))
      else for (const line of linesOf(checkpoint)) io.out(line)
    }
  } finally {
    await storage.close()
  }
  if (found === 0) requireNoPath(path, url, io)
  if (damaged > 0 && !flags.boolean('json')) for (const line of REMEDY) io.out(line)
  return damaged > 0 ? 1 : 0
}

const REMEDY = [
  '',
  'What to do: a job continues by itself from its newest whole checkpoint, with a',
  'warning. If none is whole, put the damaged file back from a copy, or start from',
  'a savepoint: weir run JOB --restore-from PATH. Then remove the damaged folder.',
]

function requireFolder(url: string): void {
  const place = parseStorageUrl(url)
  // Unlike existsSync it throws for a folder that this user may not look into.
  if (place.kind !== 'local' || statSync(place.path, { throwIfNoEntry: false }) !== undefined)
    return
  throw new WeirError(
    'FILE_NOT_FOUND',
    `there is no checkpoint storage at ${place.path}; give --data-dir, or -D execution.checkpointing.dir=PLACE`,
  )
}

function requireNoPath(path: string | undefined, url: string, io: CommandIo): void {
  if (path !== undefined) {
    throw new WeirError(
      'CHECKPOINT_NOT_FOUND',
      `${path} holds no checkpoint or savepoint in ${url}`,
    )
  }
  io.err(`no checkpoint and no savepoint in ${url}`)
}

function jsonOf({ manifest, damaged, ...checkpoint }: InspectedCheckpoint): object {
  return {
    ...checkpoint,
    jobName: manifest?.jobName,
    checkpointId: manifest?.checkpointId,
    completedAtMs: manifest?.completedAtMs,
    isWhole: damaged.length === 0,
    damaged: damaged.map(({ path, error }) => ({
      path,
      code: error.code,
      offset: error.details['offset'],
      message: error.message,
    })),
  }
}

const SUPERSEDED =
  'the job continued from another checkpoint or savepoint; its next checkpoint deletes this one'

function verdictOf({ isSuperseded, damaged }: InspectedCheckpoint): string {
  if (isSuperseded) return 'superseded'
  return damaged.length === 0 ? 'whole' : 'DAMAGED'
}

function linesOf(checkpoint: InspectedCheckpoint): string[] {
  const { folder, manifest, files, bytes, damaged } = checkpoint
  const job =
    manifest === undefined
      ? ''
      : `, ${manifest.jobName}, ${new Date(manifest.completedAtMs).toISOString().slice(0, 19)}Z`
  const size = `${files} ${files === 1 ? 'file' : 'files'}, ${bytesText(bytes)}`
  return [
    folder,
    `  ${verdictOf(checkpoint)}: ${size}${job}`,
    ...(checkpoint.isSuperseded ? [`  ${SUPERSEDED}`] : []),
    ...damaged.map(({ path, error }) => {
      const offset = error.details['offset']
      const at = offset === undefined ? '' : ` at byte ${offset}`
      return `  ${path}: ${error.code}${at}: ${error.message}`
    }),
  ]
}

import { isWeirError, WeirError } from '../../../core/errors.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import {
  type CompletionRecord,
  type FencedManifest,
  isValidManifest,
  lostManifests,
  type RestoreRecord,
} from '../protocol/valid-checkpoints.ts'
import type { CheckpointStorage, StoredFile } from '../storage/checkpoint-storage.ts'
import {
  checkpointFolder,
  classifyPath,
  completedPath,
  manifestPath,
  restoredPath,
} from '../storage/paths.ts'
import {
  cutSegment,
  type DamagedCheckpoint,
  lostManifest,
  passedOver,
  readOrDamage,
} from './damage.ts'

/** Listener for problems that do not stop the coordinator, for example a damaged checkpoint. */
export type WarningListener = (warning: WeirError) => void

/** Checkpoints that a coordinator found when it took over a job's folder. */
export interface RepositoryContent {
  /** Checkpoints that may be restored, oldest first. */
  readonly completed: readonly CheckpointManifest[]
  /**
   * Checkpoints that must not be restored (fenced, abandoned); deleted after the next restore. Empty
   * while a checkpoint is damaged.
   */
  readonly leftovers: readonly number[]
  /** Checkpoints with a damaged or missing file, oldest first; none of their files may be deleted. */
  readonly damaged: readonly DamagedCheckpoint[]
  /**
   * Generation below which nothing is deleted, because a manifest that cannot be read may refer to it;
   * 0 without one.
   */
  readonly protectedBelow: number
  /** Highest checkpoint id of any file. */
  readonly highestId: number
  /** Folder of the savepoint that the last attempt restored, if no checkpoint has completed since. */
  readonly origin: string | undefined
  readonly completions: readonly CompletionRecord[]
}

/** The files of a job's folder by what they are. */
export interface JobFiles {
  /** Checkpoints with a manifest, in ascending order. */
  readonly ids: readonly number[]
  readonly records: readonly RestoreRecord[]
  readonly completions: readonly CompletionRecord[]
  /** Claimed generations. */
  readonly claims: readonly number[]
  /** Generations whose process has given its claim up. */
  readonly released: readonly number[]
  /** Highest generation of any file; 0 for none. */
  readonly highestGeneration: number
}

/** Sorts the files of a job's folder by what they are. */
export function jobFilesOf(jobId: string, files: readonly StoredFile[]): JobFiles {
  const stored = files.map(({ path }) => classifyPath(jobId, path))
  const ids = stored.flatMap((file) => (file.kind === 'manifest' ? [file.checkpointId] : []))
  const records = stored.flatMap((file) => (file.kind === 'restored' ? [file.record] : []))
  const completions = stored.flatMap((file) => (file.kind === 'completed' ? [file.record] : []))
  const claims = stored.flatMap((file) => (file.kind === 'epoch' ? [file.generation] : []))
  const released = stored.flatMap((file) => (file.kind === 'released' ? [file.generation] : []))
  const segments = stored.flatMap((file) => (file.kind === 'segment' ? [file.generation] : []))
  const generations = [...records, ...completions].map(({ generation }) => generation)
  return {
    ids: ids.sort((a, b) => a - b),
    records,
    completions,
    claims,
    released,
    highestGeneration: Math.max(0, ...claims, ...segments, ...generations),
  }
}

/** A job's folder in storage. */
export interface JobFolder {
  readonly storage: CheckpointStorage
  readonly jobId: string
}

/** A job's folder that a coordinator has claimed. */
export interface ClaimedFolder {
  readonly jobId: string
  /** The claimed generation. */
  readonly generation: number
}

/**
 * Reads the job's manifests; must follow the claim. A damaged checkpoint is reported and left out. A
 * storage failure is thrown: to continue from an older checkpoint would be wrong without notice.
 */
export async function loadJobFolder(
  storage: CheckpointStorage,
  folder: ClaimedFolder,
  warn: WarningListener,
): Promise<RepositoryContent> {
  const { jobId } = folder
  const listed = await storage.list(jobId)
  const files = jobFilesOf(jobId, listed)
  const sizes = new Map(listed.map(({ path, bytes }) => [path, bytes]))
  const { completed, damaged } = await readCheckpoints({ storage, jobId }, files, sizes)
  const readable = [...completed, ...damaged.flatMap(({ manifest }) => manifest ?? [])]
  damaged.push(...(await lostCheckpoints({ storage, jobId }, files, readable)))
  damaged.sort((a, b) => a.checkpointId - b.checkpointId)
  for (const checkpoint of damaged) warn(passedOver(checkpoint, completed.at(-1)))
  const counting = new Set([...completed, ...damaged].map(({ checkpointId }) => checkpointId))
  const { ids, records, completions } = files
  const recorded = [...records, ...completions].map(({ checkpointId }) => checkpointId)
  return {
    completed,
    leftovers: damaged.length > 0 ? [] : ids.filter((id) => !counting.has(id)),
    damaged,
    protectedBelow: protectedBelow(folder.generation, completed, damaged),
    highestId: Math.max(0, ...ids, ...recorded),
    origin: completed.length > 0 ? undefined : await lastOrigin({ storage, jobId }, records),
    completions,
  }
}

async function readCheckpoints(
  { storage, jobId }: JobFolder,
  { ids, records, completions, claims }: JobFiles,
  sizes: ReadonlyMap<string, number>,
): Promise<{ completed: CheckpointManifest[]; damaged: DamagedCheckpoint[] }> {
  const completed: CheckpointManifest[] = []
  const damaged: DamagedCheckpoint[] = []
  for (const checkpointId of ids) {
    const evidence = evidenceOf(jobId, checkpointId, completions)
    const manifest = await readOrDamage(storage, checkpointFolder(jobId, checkpointId))
    if (manifest instanceof WeirError) {
      damaged.push({ checkpointId, error: manifest, manifest: undefined, evidence })
    } else if (manifest !== undefined && isValidManifest(manifest, records, Math.min(...claims))) {
      const error = await cutSegment(storage, manifest, sizes)
      if (error === undefined) completed.push(manifest)
      else damaged.push({ checkpointId, error, manifest, evidence })
    }
  }
  return { completed, damaged }
}

/** What to remove so that a damaged checkpoint counts as never taken: its folder and its records. */
export function evidenceOf(
  jobId: string,
  checkpointId: number,
  completions: readonly CompletionRecord[],
): readonly string[] {
  const records = completions.filter((record) => record.checkpointId === checkpointId)
  return [
    checkpointFolder(jobId, checkpointId),
    ...records.map((record) => completedPath(jobId, record)),
  ]
}

/**
 * Checkpoints whose manifest was lost: they completed, or the last attempt restored them. `counting` are
 * those that can be read. Throws STORAGE_FAILED.
 */
export async function lostCheckpoints(
  folder: JobFolder,
  files: JobFiles,
  counting: readonly FencedManifest[],
): Promise<readonly DamagedCheckpoint[]> {
  const stored = new Set(files.ids)
  const lost: DamagedCheckpoint[] = []
  for (const record of lostManifests({ completions: files.completions, stored, counting })) {
    if (await isLost(folder, record)) lost.push(lostCheckpoint(folder.jobId, record))
  }
  const restored = restoredAndLost(folder.jobId, files)
  if (restored === undefined) return lost
  const same = lost.find(({ checkpointId }) => checkpointId === restored.checkpointId)
  if (same === undefined) return [...lost, restored]
  const evidence = [...same.evidence, ...restored.evidence]
  return lost.map((one) => (one === same ? { ...same, evidence } : one))
}

/**
 * Whether a record still has no manifest. An older coordinator may have written the manifest after it was
 * listed, or deleted both: it deletes the record first, so the record is read last.
 */
async function isLost({ storage, jobId }: JobFolder, record: CompletionRecord): Promise<boolean> {
  const manifest = manifestPath(checkpointFolder(jobId, record.checkpointId))
  if (await fileExists(storage, manifest)) return false
  return await fileExists(storage, completedPath(jobId, record))
}

/** A checkpoint that completed and whose manifest is gone. */
function lostCheckpoint(jobId: string, record: CompletionRecord): DamagedCheckpoint {
  const { checkpointId } = record
  const evidence = completedPath(jobId, record)
  const path = manifestPath(checkpointFolder(jobId, checkpointId))
  const error = lostManifest(path, `${evidence} records that the checkpoint completed`)
  return { checkpointId, error, manifest: undefined, evidence: [evidence] }
}

/**
 * The checkpoint that the last attempt restored, if its manifest and all newer ones are gone: only a
 * newer checkpoint lets a coordinator delete it.
 */
function restoredAndLost(jobId: string, { ids, records }: JobFiles): DamagedCheckpoint | undefined {
  const record = newestOf(records)
  if (record === undefined || record.checkpointId <= Math.max(0, ...ids)) return undefined
  const { checkpointId } = record
  const path = manifestPath(checkpointFolder(jobId, checkpointId))
  const error = lostManifest(path, 'a job restored it and no newer checkpoint replaced it')
  return { checkpointId, error, manifest: undefined, evidence: [restoredPath(jobId, record)] }
}

/** A manifest that cannot be read is not newer than the valid checkpoints with a higher id. */
function protectedBelow(
  generation: number,
  completed: readonly CheckpointManifest[],
  damaged: readonly DamagedCheckpoint[],
): number {
  const newest = damaged.findLast(({ manifest }) => manifest === undefined)
  if (newest === undefined) return 0
  const later = completed.filter(({ checkpointId }) => checkpointId > newest.checkpointId)
  return Math.min(generation, ...later.map((manifest) => manifest.generation + 1))
}

async function lastOrigin(
  { storage, jobId }: JobFolder,
  records: readonly RestoreRecord[],
): Promise<string | undefined> {
  const last = newestOf(records)
  if (last === undefined) return undefined
  const bytes = await storage.read(restoredPath(jobId, last))
  return bytes.length === 0 ? undefined : new TextDecoder().decode(bytes)
}

function newestOf(records: readonly RestoreRecord[]): RestoreRecord | undefined {
  return [...records].sort((a, b) => b.generation - a.generation || b.attempt - a.attempt)[0]
}

/** Whether storage has a file. Throws STORAGE_FAILED. */
export async function fileExists(storage: CheckpointStorage, path: string): Promise<boolean> {
  try {
    await storage.read(path)
    return true
  } catch (error) {
    if (isWeirError(error, 'CHECKPOINT_NOT_FOUND')) return false
    throw error
  }
}

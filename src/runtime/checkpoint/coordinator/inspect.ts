import { isWeirError, WeirError } from '../../../core/errors.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import { isValidManifest } from '../protocol/valid-checkpoints.ts'
import type { CheckpointStorage, StoredFile } from '../storage/checkpoint-storage.ts'
import { checkpointFolder, MANIFEST_NAME, manifestPath } from '../storage/paths.ts'
import { damageIfCut, damageOf, readOrDamage, segmentsOf } from './damage.ts'
import { type JobFiles, jobFilesOf, lostCheckpoints } from './job-folder.ts'

/** Damage of one file. */
export interface FileDamage {
  readonly path: string
  readonly error: WeirError
}

/** A checkpoint or savepoint in storage, and what is damaged in it. */
export interface InspectedCheckpoint {
  readonly folder: string
  readonly kind: 'checkpoint' | 'savepoint'
  /** Job of a checkpoint; undefined for a savepoint whose manifest cannot be read. */
  readonly jobId: string | undefined
  /** Undefined if it cannot be read. */
  readonly manifest: CheckpointManifest | undefined
  /** Number of its files, the manifest included; 0 if the manifest was lost. */
  readonly files: number
  /** Bytes of its files. */
  readonly bytes: number
  /**
   * The job has restored another checkpoint or a savepoint since. No restart takes it, its files may be gone, and
   * the next checkpoint of the job deletes it.
   */
  readonly isSuperseded: boolean
  /** Empty if it is superseded. */
  readonly damaged: readonly FileDamage[]
}

/** Depth of an inspection: `lengths` reads manifests alone, `all-bytes` every file. */
export type InspectionDepth = 'lengths' | 'all-bytes'

/**
 * Inspects every checkpoint and savepoint below `folder` ('' for all of storage); newest first within a
 * job. Damage is in the result. Throws STORAGE_FAILED, PERMISSION_DENIED.
 */
export async function* inspectCheckpoints(
  storage: CheckpointStorage,
  folder: string,
  depth: InspectionDepth,
): AsyncGenerator<InspectedCheckpoint> {
  const files = await storage.list(folder)
  const inspector = new Inspector(storage, files, depth)
  const suffix = `/${MANIFEST_NAME}`
  const folders = files.flatMap(({ path }) =>
    path.endsWith(suffix) ? [path.slice(0, -suffix.length)] : [],
  )
  const lost = await inspector.lostFolders(folder)
  for (const found of [...folders, ...lost.keys()].sort(newestFirst)) {
    const inspected = lost.get(found) ?? (await inspector.inspect(found))
    if (inspected !== undefined) yield inspected
  }
}

/** Inspects one checkpoint after the other; a segment of several checkpoints is read once. */
class Inspector {
  private readonly storage: CheckpointStorage
  private readonly files: readonly StoredFile[]
  private readonly sizes: ReadonlyMap<string, number>
  private readonly depth: InspectionDepth
  private readonly known = new Map<string, WeirError | undefined>()
  /** Files of the jobs of which a checkpoint was inspected. */
  private readonly jobs = new Map<string, Promise<JobFiles>>()

  constructor(storage: CheckpointStorage, files: readonly StoredFile[], depth: InspectionDepth) {
    this.storage = storage
    this.files = files
    this.sizes = new Map(files.map(({ path, bytes }) => [path, bytes]))
    this.depth = depth
  }

  /** Undefined if a running job removed the checkpoint meanwhile. */
  async inspect(folder: string): Promise<InspectedCheckpoint | undefined> {
    const checkpoint = checkpointOf(folder)
    const path = manifestPath(folder)
    const manifestBytes = this.sizes.get(path)
    const read = await this.readManifest(folder)
    if (read === undefined) return undefined
    const kind = checkpoint === undefined ? 'savepoint' : 'checkpoint'
    if (read instanceof WeirError) {
      const damaged = [{ path, error: read }]
      const bytes = manifestBytes ?? 0
      const jobId = checkpoint?.jobId
      const isSuperseded = false
      return { folder, kind, jobId, manifest: undefined, files: 1, bytes, isSuperseded, damaged }
    }
    const segments = segmentsOf(read)
    const isSuperseded = checkpoint !== undefined && (await this.isSuperseded(read))
    const damaged = isSuperseded ? [] : await this.damagedSegments(read)
    if (damaged.length > 0 && (await this.readManifest(folder)) === undefined) return undefined
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes, manifestBytes ?? 0)
    const { jobId } = read
    const files = segments.length + 1
    return { folder, kind, jobId, manifest: read, files, bytes, isSuperseded, damaged }
  }

  private async isSuperseded(manifest: CheckpointManifest): Promise<boolean> {
    const { jobId } = manifest
    const known = this.jobs.get(jobId) ?? this.filesOfJob(jobId)
    this.jobs.set(jobId, known)
    const { records, claims } = await known
    return !isValidManifest(manifest, records, claims.length === 0 ? 0 : Math.min(...claims))
  }

  /** The listing that the inspection began with may be of one checkpoint only. */
  private async filesOfJob(jobId: string): Promise<JobFiles> {
    return jobFilesOf(jobId, await this.storage.list(jobId))
  }

  /** Checkpoints in or below `folder` whose manifest was lost, by their folder. */
  async lostFolders(folder: string): Promise<ReadonlyMap<string, InspectedCheckpoint>> {
    const named = checkpointOf(folder)
    const files = named === undefined ? this.files : await this.storage.list(named.jobId)
    const lost = new Map<string, InspectedCheckpoint>()
    for (const jobId of new Set(files.map(({ path }) => path.split('/', 1)[0]!))) {
      for (const one of await this.lostOf(jobId, files)) {
        if (named === undefined || one.folder === folder) lost.set(one.folder, one)
      }
    }
    return lost
  }

  private async lostOf(
    jobId: string,
    listed: readonly StoredFile[],
  ): Promise<readonly InspectedCheckpoint[]> {
    const { storage } = this
    const files = jobFilesOf(jobId, listed)
    const counting: CheckpointManifest[] = []
    const ids = new Set(files.ids)
    const mayBeLost = files.completions.some(({ checkpointId }) => !ids.has(checkpointId))
    for (const id of mayBeLost ? ids : []) {
      const manifest = await this.readManifest(checkpointFolder(jobId, id))
      if (manifest !== undefined && !(manifest instanceof WeirError)) counting.push(manifest)
    }
    return (await lostCheckpoints({ storage, jobId }, files, counting)).map(
      ({ checkpointId, error, evidence }) => {
        const folder = checkpointFolder(jobId, checkpointId)
        const path = manifestPath(folder)
        const advice = `${error.message}. Put it back from a copy; if the checkpoint is no longer needed, remove ${evidence.join(' and ')}`
        const explained = new WeirError(error.code, advice, { details: error.details })
        const damaged = [{ path, error: explained }]
        return {
          folder,
          kind: 'checkpoint',
          jobId,
          manifest: undefined,
          files: 0,
          bytes: 0,
          isSuperseded: false,
          damaged,
        }
      },
    )
  }

  private async readManifest(folder: string): Promise<CheckpointManifest | WeirError | undefined> {
    try {
      return await readOrDamage(this.storage, folder)
    } catch (error) {
      if (isWeirError(error, 'UNSUPPORTED_VERSION')) return error
      throw error
    }
  }

  private async damagedSegments(manifest: CheckpointManifest): Promise<readonly FileDamage[]> {
    const { storage, sizes, known } = this
    const damaged: FileDamage[] = []
    for (const segment of segmentsOf(manifest)) {
      const { path } = segment
      if (!known.has(path)) {
        const reading =
          this.depth === 'all-bytes'
            ? damageOf(storage, segment)
            : damageIfCut(storage, segment, sizes)
        known.set(path, await reading)
      }
      const error = known.get(path)
      if (error !== undefined) damaged.push({ path, error })
    }
    return damaged
  }
}

/** Job and number in the folder of a checkpoint; undefined for a savepoint. */
function checkpointOf(folder: string): { jobId: string; checkpointId: number } | undefined {
  const match = /^([^/]+)\/chk-(\d+)$/.exec(folder)
  return match === null ? undefined : { jobId: match[1]!, checkpointId: Number(match[2]) }
}

function newestFirst(a: string, b: string): number {
  const [first, second] = [checkpointOf(a), checkpointOf(b)]
  if (first === undefined || second === undefined || first.jobId !== second.jobId) {
    return a < b ? -1 : 1
  }
  return second.checkpointId - first.checkpointId
}

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WeirError } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import { openModelFile, writeModelFile } from '../../src/models/publish/file-io.ts'
import { CheckpointCoordinator } from '../../src/runtime/checkpoint/coordinator/coordinator.ts'
import { readManifest } from '../../src/runtime/checkpoint/manifest/read.ts'
import type { CheckpointManifest } from '../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { planRestore } from '../../src/runtime/checkpoint/protocol/restore-plan.ts'
import { FileCheckpointStorage } from '../../src/runtime/checkpoint/storage/file.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import {
  MAX_PARALLELISM,
  SimulatedSubtask,
} from '../runtime/checkpoint/simulation/simulated-subtask.ts'
import { settle } from './schedule.ts'
import { unforcedFiles } from './unforced-files.ts'

/** A folder that Weir wrote, and how to read all of it. */
export interface DamagedFolder {
  readonly name: string
  readonly path: string
  /**
   * Reads everything, as text. `warn` is called for what is passed over with a warning. Throws what Weir
   * throws.
   */
  read(warn: (warning: WeirError) => void): Promise<string>
  /** Whether a reader may change this file although it is whole (path below the folder). */
  mayChange(file: string): boolean
  /** Bytes of a file of which the campaign flips every bit; else one bit of each byte. */
  flipsEveryBit?(file: string, bytes: Uint8Array): ReadonlySet<number>
}

/** Content of the files below a folder, by path. */
export type FolderImage = ReadonlyMap<string, Uint8Array>

/** Reads all files below a folder. */
export function imageOf(folder: string): FolderImage {
  const image = new Map<string, Uint8Array>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    image.set(path.slice(folder.length + 1), new Uint8Array(readFileSync(path)))
  }
  return image
}

/** Makes a folder as it was: writes the files that differ, and removes files and folders that were not there. */
export function restoreImage(folder: string, image: FolderImage): void {
  const folders = new Set([...image.keys()].flatMap(foldersOf))
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(folder.length + 1)
    if (entry.isDirectory() ? folders.has(name) : image.has(name)) continue
    rmSync(path, { recursive: true, force: true })
  }
  for (const [file, bytes] of image) {
    const path = join(folder, file)
    if (existsSync(path) && Buffer.compare(readFileSync(path), bytes) === 0) continue
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
  }
}

/** All folders above a file, below the root of its path. */
function foldersOf(file: string): readonly string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, n) => parts.slice(0, n + 1).join('/'))
}

const JOB_ID = 'd'.repeat(32)

/** Checkpoints of a simulated job: three retained ones and a savepoint. */
export async function writeCheckpoints(path: string): Promise<DamagedFolder> {
  const storage = new FileCheckpointStorage(path, unforcedFiles)
  const clock = new ManualClock(1_000_000)
  const subtasks: SimulatedSubtask[] = []
  const coordinator = await openCoordinator(storage, clock, subtasks, () => {})
  await coordinator.restorePoint(1)
  subtasks.push(...newSubtasks(storage, coordinator))
  coordinator.start(
    1,
    subtasks.map(({ task }) => task),
  )
  const savepoint: string[] = []
  for (let round = 0; round < 5; round++) {
    for (const subtask of subtasks) for (let i = 0; i < 6; i++) subtask.process()
    if (round === 2) savepoint.push(await coordinator.triggerSavepoint())
    await coordinator.triggerCheckpoint()
    await settle()
  }
  await coordinator.close()
  return {
    name: 'checkpoints',
    path,
    read: async (warn) => {
      const latest = await readLatest(path, warn)
      const saved = await readManifest(
        new FileCheckpointStorage(path, unforcedFiles),
        savepoint[0]!,
      )
      return `${latest} savepoint ${await restored(new FileCheckpointStorage(path, unforcedFiles), saved)}`
    },
    mayChange: (file) => /epoch-/.test(file),
  }
}

async function readLatest(path: string, warn: (warning: WeirError) => void): Promise<string> {
  const storage = new FileCheckpointStorage(path, unforcedFiles)
  const coordinator = await openCoordinator(storage, new ManualClock(2_000_000), [], warn)
  const manifest = await coordinator.restorePoint(1)
  if (manifest === undefined) return 'nothing'
  return `${manifest.checkpointId} ${await restored(storage, manifest)}`
}

async function restored(
  storage: FileCheckpointStorage,
  manifest: CheckpointManifest,
): Promise<string> {
  const operator = { uid: 'counter', parallelism: 2, maxParallelism: MAX_PARALLELISM }
  const plan = planRestore(manifest, [operator])
  const subtasks = newSubtasks(storage, undefined)
  for (const [i, subtask] of subtasks.entries()) {
    await subtask.restore(plan.get('counter')![i]!, storage)
  }
  const offsets = subtasks.flatMap((one) => [...one.offsets]).sort()
  return JSON.stringify([offsets, subtasks.flatMap((one) => [...one.counters]).sort()])
}

function openCoordinator(
  storage: FileCheckpointStorage,
  clock: ManualClock,
  subtasks: readonly SimulatedSubtask[],
  warn: (warning: WeirError) => void,
): Promise<CheckpointCoordinator> {
  return CheckpointCoordinator.open({
    jobId: JOB_ID,
    jobName: 'damaged',
    storage,
    clock,
    random: seededRandom(1),
    retained: 3,
    compaction: false,
    job: {
      triggerBarrier: (barrier) => {
        for (const subtask of subtasks) subtask.onBarrier(barrier)
      },
      notifyCompleted: (id) => {
        for (const subtask of subtasks) subtask.onCompleted(id)
      },
      notifyAborted: () => {},
      failJob: () => {},
    },
    listener: { warning: warn },
  })
}

function newSubtasks(
  storage: FileCheckpointStorage,
  coordinator: CheckpointCoordinator | undefined,
): SimulatedSubtask[] {
  const random = seededRandom(2)
  return [0, 1].map(
    (subtask) =>
      new SimulatedSubtask({
        generation: coordinator?.generation ?? 0,
        attempt: 1,
        jobId: JOB_ID,
        subtask,
        parallelism: 2,
        storage,
        random,
        onCut: () => {},
        sendAck: (ack) => coordinator?.onAck(ack),
        sendDecline: (decline) => coordinator?.onDecline(decline),
      }),
  )
}

/** A model file of a few rows. */
export async function writeModel(path: string): Promise<DamagedFolder> {
  mkdirSync(path, { recursive: true })
  const file = join(path, 'model.bin')
  const rows = Array.from({ length: 12 }, (_, i) => ({
    key: `${i}-U`,
    vector: Float32Array.of(i, -i, 0.5),
    ratings: i,
  }))
  await writeModelFile(file, { dimension: 3, rows: rows.length }, rows)
  return {
    name: 'model file',
    path,
    read: async () => {
      const model = await openModelFile(file)
      const found: unknown[] = [model.header]
      for await (const { key, vector, ratings } of model.rows()) {
        found.push([key, [...vector], ratings])
      }
      return JSON.stringify(found)
    },
    mayChange: () => false,
  }
}

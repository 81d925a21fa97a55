import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { asWeirError } from '../../core/errors.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { requireModelName } from '../repository/name.ts'
import { type PushedVersion, pushModel, requireFreeVersion } from '../repository/push.ts'
import { externalFiles, type VersionFile } from '../repository/version-files.ts'
import { type ChosenFile, chooseFiles, requireTrusted, weightFiles } from './choice.ts'
import { download } from './download.ts'
import { DownloadFolder } from './download-folder.ts'
import type { ModelPlace } from './port.ts'

/** A model to be added to a repository from a place. */
export interface PlacePush {
  /** Folder of the repository; created when missing. */
  readonly root: string
  readonly name: string
  /** @default one more than the highest */
  readonly version?: number
  readonly place: ModelPlace
  /** The place as the user wrote it, for the version's list of files and for messages. */
  readonly address: string
  /** Path of the model's file in the place. @default its only ONNX file */
  readonly file: string | undefined
  /** Whether code of the place may run here, and its files may name other servers. */
  readonly trustsCode: boolean
  readonly files: FileSystem
  readonly clock: Clock
  /** Gets the bytes that are there, and those of all files that are known to be needed. */
  readonly onBytes?: (done: number, total: number) => void
}

/** A version that came from a place. */
export interface FetchedVersion extends PushedVersion {
  /** What the place was pinned to, such as a commit. */
  readonly revision: string | undefined
  /** Path of the model's file in the place. */
  readonly from: string
  /** Paths of the files that were left out. */
  readonly leftOut: readonly string[]
  /** Paths of the files of which the place states no checksum: their length was compared, and TLS protected them. */
  readonly unchecked: readonly string[]
}

/**
 * Adds a version from a place: lists it, chooses the model and what belongs to it, reads the files, compares them with
 * the checksums that the place states, and pushes them. What came before an interruption is not read again. Throws as
 * `chooseFiles`, `requireTrusted`, `weightFiles`, `download`, `DownloadFolder.open` and `pushModel`.
 */
export async function pushFromPlace(push: PlacePush): Promise<FetchedVersion> {
  const { root, name, version, files, address } = push
  // What is wrong is said before gigabytes have come.
  requireModelName(name)
  if (version !== undefined) await requireFreeVersion(files, join(root, name, String(version)))
  try {
    return await fetchAndPush(push)
  } catch (error) {
    throw asWeirError(error, 'STORAGE_FAILED', `cannot push ${address} as "${name}"`)
  }
}

async function fetchAndPush(push: PlacePush): Promise<FetchedVersion> {
  const { root, name, version, place, address, files } = push
  const { revision, files: listed } = await place.list()
  const choice = chooseFiles(listed, push)
  requireTrusted(choice.model.file, push.trustsCode)
  await using folder = await DownloadFolder.open(files, root, address)
  const fetch = new Fetch(push, folder)
  fetch.expect([choice.model, ...choice.companions])
  const model = await fetch.part(choice.model)
  const named = choice.model.to === 'model.onnx' ? externalFiles(model.from) : new Set<string>()
  const weights = weightFiles(listed, choice.model.file, named)
  const others = choice.companions.filter(({ to }) => !named.has(to))
  fetch.expect(weights)
  const parts = [model]
  for (const chosen of [...weights, ...others]) parts.push(await fetch.part(chosen))
  const source = { place: address, ...(revision === undefined ? {} : { revision }) }
  const pushed = await pushModel(files, {
    root,
    name,
    file: address,
    parts,
    source,
    ...(version === undefined ? {} : { version }),
  })
  await folder.clear()
  const isWeight = (path: string): boolean => weights.some(({ file }) => file.path === path)
  const leftOut = choice.leftOut.filter((path) => !isWeight(path))
  return { ...pushed, revision, from: choice.model.file.path, leftOut, unchecked: fetch.unchecked }
}

/** The files that are read, one after the other. */
class Fetch {
  readonly unchecked: string[] = []
  private readonly push: PlacePush
  private readonly folder: DownloadFolder
  private done = 0
  private total = 0

  constructor(push: PlacePush, folder: DownloadFolder) {
    this.push = push
    this.folder = folder
  }

  /** Counts further files in the progress. */
  expect(chosen: readonly ChosenFile[]): void {
    this.total += chosen.reduce((sum, { file }) => sum + file.bytes, 0)
  }

  /** Reads a file. */
  async part({ file, to }: ChosenFile): Promise<VersionFile> {
    const { place, files, clock, onBytes } = this.push
    const path = this.folder.pathOf(file)
    const verified = await download({
      ...{ place, file, path, files, clock },
      onBytes: (bytes) => onBytes?.(this.done + bytes, this.total),
    })
    this.done += file.bytes
    if (verified === 'length') this.unchecked.push(file.path)
    return { from: path, to }
  }
}

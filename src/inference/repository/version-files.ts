import { basename, extname, join } from 'node:path'
import { requireArgument, WeirError } from '../../core/errors.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { readModelGraph } from '../onnx/graph.ts'
import { FileBytes } from '../runners/file-bytes.ts'
import { MANIFEST_FILE, MODEL_FILES } from './scan.ts'

/** A file that becomes a part of a version. */
export interface VersionFile {
  /** Where it is. */
  readonly from: string
  /** Path in the folder of the version. */
  readonly to: string
}

const MOST_FILES = 1000

/**
 * The files of a version that is pushed, the model's first: of a file that file alone, of a folder all of its files. Names
 * that begin with a dot are left out. Throws INVALID_ARGUMENT, and FILE_NOT_FOUND where an ONNX file has weights in a file
 * that is not there.
 */
export async function versionFiles(files: FileSystem, path: string): Promise<VersionFile[]> {
  const status = await files.stat(path)
  if (status === undefined) throw new WeirError('FILE_NOT_FOUND', `there is no file ${path}`)
  const parts = status.isFolder ? await folderFiles(files, path) : [fileOf(path)]
  if (parts[0]!.to === 'model.onnx') requireWeights(path, parts)
  return parts
}

function fileOf(path: string): VersionFile {
  const name = basename(path)
  // A pipeline has its own name: .json alone is a model on another server.
  const isPipeline = /^pipeline\.(yaml|json)$/.test(name)
  const to = MODEL_FILES.find((known) =>
    isPipeline
      ? known === name
      : known.startsWith('model.') && extname(known) === extname(path).toLowerCase(),
  )
  requireArgument(
    to !== undefined,
    `${basename(path)} is no model: push a file that ends with .onnx, .ts, .js, .mjs or .json, a pipeline as pipeline.yaml, or a folder with one`,
  )
  return { from: path, to }
}

async function folderFiles(files: FileSystem, folder: string): Promise<VersionFile[]> {
  const paths = await pathsIn(files, folder)
  requireArgument(paths.length <= MOST_FILES, `${folder} has more than ${MOST_FILES} files`)
  const named = paths.filter((path) => MODEL_FILES.some((known) => known === path))
  const models = named.length > 0 ? named : paths.filter((path) => /^[^/]+\.onnx$/i.test(path))
  const [model] = models
  if (model === undefined || models.length > 1) {
    const found = models.length === 0 ? 'none' : models.join(' and ')
    const message = `${folder} must hold one of ${MODEL_FILES.join(', ')}, or one file that ends with .onnx; it holds ${found}`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const others = paths.filter((path) => path !== model)
  return [
    { from: join(folder, model), to: named.length > 0 ? model : 'model.onnx' },
    ...others.map((path) => ({ from: join(folder, path), to: path })),
  ]
}

/** Paths of the files of a folder and of those in it, in a fixed order. */
export async function pathsIn(files: FileSystem, folder: string): Promise<string[]> {
  const paths: string[] = []
  for (const { name, isFolder } of await files.list(folder)) {
    if (name.startsWith('.') || name === MANIFEST_FILE) continue
    if (!isFolder) paths.push(name)
    else for (const path of await pathsIn(files, join(folder, name))) paths.push(`${name}/${path}`)
  }
  return paths.sort()
}

function requireWeights(pushed: string, parts: readonly VersionFile[]): void {
  const missing = [...externalFiles(parts[0]!.from)].filter(
    (file) => !parts.some(({ to }) => to === file),
  )
  if (missing.length === 0) return
  const message = `the weights of ${parts[0]!.from} are in ${missing.join(', ')}, which ${pushed} does not have; push a folder with the model and these files`
  throw new WeirError('FILE_NOT_FOUND', message)
}

/** The files with weights that an ONNX file names, as paths from its folder; of a file that cannot be read the load says what is wrong. */
export function externalFiles(path: string): ReadonlySet<string> {
  try {
    using bytes = new FileBytes(path)
    return readModelGraph(bytes).files
  } catch {
    return new Set()
  }
}

/*
 * Fetches a MovieLens set from the official site: prints the terms, downloads the archive, checks its SHA-256
 * and unpacks the files that Weir reads.
 *
 *   node datasets/fetch-movielens.ts ml-100k [folder] --accept-terms
 *
 * The files go to `<folder>/<folder in the archive>/`. The default folder is `datasets/downloaded`, which git
 * ignores, because the sets must not be redistributed.
 */
import { createHash } from 'node:crypto'
import { mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  MOVIELENS_BASE_URL,
  MOVIELENS_SETS,
  MOVIELENS_TERMS,
  type MovielensSet,
} from './movielens-sets.ts'
import { readZip } from './read-zip.ts'

/** Options of `fetchMovielens`. */
export interface FetchMovielensOptions {
  readonly set: MovielensSet
  /** Folder of the unpacked files. */
  readonly folder: string
  /** @default the official site */
  readonly baseUrl?: string
  /** @default the built-in fetch */
  readonly transport?: (url: string) => Promise<Response>
  readonly print: (line: string) => void
}

/**
 * Downloads, verifies and unpacks one set. Returns the paths of its files. Does nothing when all files exist.
 * Writes nothing when the checksum is wrong; then it throws.
 */
export async function fetchMovielens(options: FetchMovielensOptions): Promise<readonly string[]> {
  const { set, folder, print } = options
  const paths = set.files.map((file) => join(folder, file))
  if (await allExist(paths)) {
    print(`${set.name} exists already: ${folder}`)
    return paths
  }
  const url = `${options.baseUrl ?? MOVIELENS_BASE_URL}/${set.name}.zip`
  print(`fetching ${url}`)
  const archive = await download(url, options.transport ?? fetch)
  const sha256 = createHash('sha256').update(archive).digest('hex')
  if (sha256 !== set.sha256) {
    throw new Error(
      `${url} has SHA-256 ${sha256}, not ${set.sha256}: the download is damaged or the set changed; no file was written`,
    )
  }
  for (const [name, content] of readZip(archive, set.files)) {
    await writeWhole(join(folder, name), content)
  }
  print(`${set.name}: ${set.shape}; checksum verified; unpacked into ${folder}`)
  return paths
}

async function allExist(paths: readonly string[]): Promise<boolean> {
  const found = await Promise.allSettled(paths.map((path) => stat(path)))
  return found.every(({ status }) => status === 'fulfilled')
}

async function download(
  url: string,
  transport: (url: string) => Promise<Response>,
): Promise<Buffer> {
  const response = await transport(url)
  if (!response.ok) throw new Error(`${url} answered ${response.status} ${response.statusText}`)
  return Buffer.from(await response.arrayBuffer())
}

/** Writes beside the target and renames, so that no incomplete file has the final name. */
async function writeWhole(path: string, content: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.partial`, content)
  await rename(`${path}.partial`, path)
}

/** Runs the script. Returns its exit code. */
export async function main(
  args: readonly string[],
  print: (line: string) => void,
  transport?: (url: string) => Promise<Response>,
): Promise<number> {
  const [name, folder] = args.filter((arg) => !arg.startsWith('--'))
  const set = MOVIELENS_SETS.find((candidate) => candidate.name === name)
  if (set === undefined) {
    print('usage: node datasets/fetch-movielens.ts SET [FOLDER] --accept-terms')
    for (const { name: known, shape } of MOVIELENS_SETS) print(`  ${known.padEnd(8)} ${shape}`)
    return 2
  }
  print(MOVIELENS_TERMS)
  if (!args.includes('--accept-terms')) {
    print('Read the terms, then run the same command with --accept-terms.')
    return 2
  }
  await fetchMovielens({
    set,
    folder: folder ?? fileURLToPath(new URL('downloaded', import.meta.url)),
    print,
    ...(transport === undefined ? {} : { transport }),
  })
  return 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main(process.argv.slice(2), (line) =>
      process.stdout.write(`${line}\n`),
    )
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

import { WeirError } from '../../core/errors.ts'
import { crc32c } from '../../core/hash/crc32c.ts'
import { name, objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { publishFile, readFully } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { ChainState, ChainStore } from './chain-state.ts'

const FORMAT = 3
const ARRAYS = [
  ...(['userRows', 'itemRows', 'userMeans', 'itemMeans', 'userRoots'] as const),
  ...(['closedUsers', 'closedItems', 'userMoments', 'itemMoments', 'userNoise'] as const),
  ...(['userWeights', 'itemWeights'] as const),
] as const

type ArrayName = (typeof ARRAYS)[number]

/** Facts of a state, which the file has as JSON. */
interface ChainHeader
  extends Pick<ChainState, 'fingerprint' | 'sweep' | 'precision' | 'userScales' | 'itemScales'> {
  readonly format: number
  /** Floats of each array, in the order of `ARRAYS`. */
  readonly lengths: readonly number[]
  /** CRC-32C of the arrays, in the same order. */
  readonly checksums: readonly number[]
}

/**
 * One file with the state of a chain, in the byte order of the machine:
 *
 *   | header length u32, little-endian | header, JSON | float32 of each array |
 *
 * A new state replaces the old one by a rename.
 */
export function chainFile(path: string, files: FileSystem = nodeFileSystem): ChainStore {
  checkArgument('chainFile', 'path', name, path)
  checkArgument('chainFile', 'files', objectWith('a file system'), files)
  return {
    load: (fingerprint) => load(files, path, fingerprint),
    save: (state) => save(files, path, state),
  }
}

async function save(files: FileSystem, path: string, state: ChainState): Promise<void> {
  const arrays = ARRAYS.map((name) => bytesOf(state[name]))
  const header: ChainHeader = {
    format: FORMAT,
    fingerprint: state.fingerprint,
    sweep: state.sweep,
    precision: state.precision,
    userScales: state.userScales,
    itemScales: state.itemScales,
    lengths: ARRAYS.map((name) => state[name].length),
    checksums: arrays.map((bytes) => crc32c(bytes)),
  }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, text.length, true)
  const file = await files.open(`${path}.new`, 'replace')
  await file.write([length, text, ...arrays], 0)
  await publishFile(files, file, path)
}

async function load(
  files: FileSystem,
  path: string,
  fingerprint: string,
): Promise<ChainState | undefined> {
  if ((await files.stat(path)) === undefined) return undefined
  const file = await files.open(path, 'read')
  try {
    const length = new Uint8Array(4)
    if ((await readFully(file, length, 0)) < 4) throw damaged(path, 'it has no header')
    const size = new DataView(length.buffer).getUint32(0, true)
    if (size > file.sizeSync()) throw damaged(path, 'it has no header')
    const text = new Uint8Array(size)
    await readFully(file, text, 4)
    const header = headerOf(path, text)
    checkSameChain(path, header, fingerprint)
    let position = 4 + size
    const arrays: Float32Array[] = []
    for (const [i, floats] of header.lengths.entries()) {
      const bytes = new Uint8Array(floats * 4)
      const read = await readFully(file, bytes, position)
      if (read < bytes.length) throw damaged(path, `it ends at byte ${position + read}`)
      if (crc32c(bytes) !== header.checksums[i]) {
        throw damaged(path, `the checksum of the array at byte ${position} is wrong`)
      }
      arrays.push(new Float32Array(bytes.buffer))
      position += bytes.length
    }
    const named = ARRAYS.map((name, i) => [name, arrays[i]!] as const)
    return { ...header, ...(Object.fromEntries(named) as Record<ArrayName, Float32Array>) }
  } finally {
    await file.close()
  }
}

function headerOf(path: string, text: Uint8Array): ChainHeader {
  let header: Partial<ChainHeader>
  try {
    header = JSON.parse(new TextDecoder().decode(text)) as Partial<ChainHeader>
  } catch {
    throw damaged(path, 'its header is no JSON')
  }
  if (header?.format !== FORMAT || header.lengths?.length !== ARRAYS.length) {
    throw damaged(path, `its header is not of format ${FORMAT}`)
  }
  return header as ChainHeader
}

function checkSameChain(path: string, header: ChainHeader, fingerprint: string): void {
  if (header.fingerprint === fingerprint) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${path} holds the chain of other ratings, factors, burn-in or seed; use the same ones, or another file`,
    { details: { file: path } },
  )
}

function damaged(path: string, what: string): WeirError {
  return new WeirError(
    'MALFORMED_DATA',
    `${path} holds no chain that training can continue: ${what}; delete it to train from the start`,
    { details: { file: path } },
  )
}

/** A copy, because the arrays are shared with threads. */
function bytesOf(floats: Float32Array): Uint8Array {
  return new Uint8Array(floats.slice().buffer)
}

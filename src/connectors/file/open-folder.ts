import { createWriteStream, type WriteStream } from 'node:fs'
import * as fsp from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { messageOf, WeirError } from '../../core/errors.ts'
import { parseFilesUrl } from '../../core/storage-url.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { decoded } from './decoded.ts'
import { HdfsLineFolder, openHdfsInput } from './hdfs-folder.ts'
import type { LineFileInput, LineFileOutput, LineFolder } from './line-folder.ts'

const PIECE_BYTES = 256 * 1024

/** A folder at a path or URL. Sends no request yet. Throws as `parseFilesUrl`. */
export function openLineFolder(place: string): LineFolder {
  const parsed = parseFilesUrl(place)
  return parsed.kind === 'hdfs' ? new HdfsLineFolder(parsed.url) : new LocalLineFolder(parsed.path)
}

/** Opens a file at a path or URL. Throws as `parseFilesUrl`. */
export async function openLineInput(place: string): Promise<LineFileInput> {
  const parsed = parseFilesUrl(place)
  return await (parsed.kind === 'hdfs' ? openHdfsInput(parsed.url) : openLocalInput(parsed.path))
}

/**
 * The bytes of a text file at a path or URL, unpacked and as UTF-8 (`decoded`). A piece is valid until the next one is
 * read. `onRead` gets the bytes of the file that are read so far, and the piece as it is stored. Throws MALFORMED_DATA
 * for a file that is damaged or cut off, or that has no lines of text.
 */
export function readPieces(
  place: string,
  onRead?: (bytes: number, piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  return decoded(readStored(place, onRead), place)
}

/** The bytes of a file at a path or URL as they are stored, in pieces, each valid until the next one is read. */
export async function* readStored(
  place: string,
  onRead?: (bytes: number, piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const input = await openLineInput(place)
  yield* thenClosed(input, storedPieces(input, onRead))
}

/** The same bytes of a file that is open. */
export async function* storedPieces(
  input: LineFileInput,
  onRead?: (bytes: number, piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(PIECE_BYTES)
  for (let position = 0; ; ) {
    const bytes = await input.read(piece, position)
    if (bytes === 0) return
    position += bytes
    const read = piece.subarray(0, bytes)
    onRead?.(position, read)
    yield read
  }
}

/** Pieces of a file, which is closed behind them. */
export async function* thenClosed(
  input: LineFileInput,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces
  } finally {
    await input.close()
  }
}

/**
 * The folder and the name of a file: `hdfs://n:9870/a/b?user.name=u` is `b` in
 * `hdfs://n:9870/a?user.name=u`.
 */
export function splitPlace(place: string): { readonly folder: string; readonly name: string } {
  const parsed = parseFilesUrl(place)
  const whole = parsed.kind === 'hdfs' ? parsed.url : parsed.path
  const query = parsed.kind === 'hdfs' ? (/\?.*$/.exec(whole)?.[0] ?? '') : ''
  const path = whole.slice(0, whole.length - query.length)
  const slash = path.lastIndexOf('/')
  const folder = slash < 0 ? '.' : path.slice(0, slash) || '/'
  return { folder: `${folder}${query}`, name: path.slice(slash + 1) }
}

/** A folder of this machine's file system. */
class LocalLineFolder implements LineFolder {
  readonly place: string

  constructor(place: string) {
    this.place = place
  }

  async make(): Promise<void> {
    await fsp.mkdir(this.place, { recursive: true })
  }

  names(): Promise<readonly string[]> {
    return fsp.readdir(this.place)
  }

  begin(name: string): LineFileOutput {
    return new LocalLineOutput(join(this.place, name))
  }

  async rename(from: string, to: string): Promise<boolean> {
    try {
      await nodeFileSystem.rename(join(this.place, from), join(this.place, to))
      // A later checkpoint no longer lists the file, so a power cut must not take the name back.
      await nodeFileSystem.syncFolder(this.place)
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  async exists(name: string): Promise<boolean> {
    const access = fsp.access(join(this.place, name))
    return await access.then(
      () => true,
      () => false,
    )
  }

  async remove(name: string): Promise<void> {
    await fsp.rm(join(this.place, name), { force: true })
  }

  async close(): Promise<void> {}
}

class LocalLineOutput implements LineFileOutput {
  private readonly path: string
  private readonly stream: WriteStream
  private full = false
  /** Callers of `whenReady`. */
  private wakers: (() => void)[] = []
  private failure: WeirError | undefined

  constructor(path: string) {
    this.path = path
    this.stream = createWriteStream(path, { flush: true })
    this.stream.on('drain', () => this.wake())
    this.stream.on('error', (cause) => {
      this.failure = new WeirError('CONNECTOR_FAILED', messageOf(cause), { cause })
      this.wake()
    })
  }

  private wake(): void {
    this.full = false
    for (const wake of this.wakers.splice(0)) wake()
  }

  write(text: string): void {
    if (this.failure !== undefined) throw this.failure
    if (!this.stream.write(text)) this.full = true
  }

  ready(): boolean {
    return !this.full || this.failure !== undefined
  }

  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => this.wakers.push(resolve))
  }

  async finish(): Promise<void> {
    await this.abandon()
    if (this.failure !== undefined) throw this.failure
    await nodeFileSystem.syncFolder(dirname(this.path))
  }

  async abandon(): Promise<void> {
    // A stream that ends emits no `drain`: callers that wait go on with the next file.
    this.stream.end()
    this.wake()
    await finished(this.stream).catch(() => undefined)
  }
}

/** Opens a file of this machine for reading. */
async function openLocalInput(path: string): Promise<LineFileInput> {
  const handle = await fsp.open(path)
  return {
    read: async (target, position) =>
      (await handle.read(target, 0, target.length, position)).bytesRead,
    size: async () => (await handle.stat()).size,
    close: () => handle.close(),
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

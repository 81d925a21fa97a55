import { createHash, type Hash } from 'node:crypto'
import { type Clock, sleep } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { readFully } from '../../files/durable-files.ts'
import type { FileSystem, OpenFile } from '../../files/file-system.ts'
import type { ModelPlace, PlaceFile, StatedChecksum } from './port.ts'

/** Pauses after attempts that brought nothing, in ms; then the download ends. */
const PAUSES_MS: readonly number[] = [500, 2000, 5000, 10_000]
const CHUNK = 1024 * 1024

/** One file on its way from a place to this machine. */
export interface Download {
  readonly place: ModelPlace
  readonly file: PlaceFile
  /** Where the bytes go: a file there is the beginning, which is not read again. */
  readonly path: string
  readonly files: FileSystem
  readonly clock: Clock
  /** Gets how many bytes are there. */
  readonly onBytes?: (bytes: number) => void
}

/** How sure the bytes are: compared with a checksum that the place states, or their number only. */
export type Verified = 'checksum' | 'length'

/**
 * Reads a file from a place until it is whole, and compares it with what the place states. An attempt that breaks off
 * continues where it ended. Rejects with CONNECTOR_FAILED after some attempts without a byte, and leaves what has come,
 * so that the next download continues; with CHECKSUM_MISMATCH, and removes it; and as `ModelPlace.open`.
 */
export async function download(wanted: Download): Promise<Verified> {
  const { files, path, file } = wanted
  const target = await files.open(path, 'change')
  try {
    const part = new PartialFile(target, file)
    await part.readBack()
    const checksum = await readAll(wanted, part)
    await target.datasync()
    if (part.at !== file.bytes) throw mismatch(file, `${part.at} bytes instead of ${file.bytes}`)
    if (checksum === undefined) return 'length'
    if (part.digest(checksum.algorithm) === checksum.hex) return 'checksum'
    throw mismatch(file, `another ${checksum.algorithm}`)
  } catch (error) {
    if (isWeirError(error, 'CHECKSUM_MISMATCH')) await files.remove(path)
    throw error
  } finally {
    await target.close()
  }
}

async function readAll(wanted: Download, part: PartialFile): Promise<StatedChecksum | undefined> {
  let failures = 0
  for (;;) {
    const before = part.at
    try {
      return await readOn(wanted, part)
    } catch (error) {
      if (!isWeirError(error, 'CONNECTOR_FAILED')) throw error
      failures = part.at > before ? 0 : failures + 1
      const pauseMs = PAUSES_MS[failures]
      if (pauseMs === undefined) throw stuck(wanted.file, part.at, error)
      await sleep(wanted.clock, pauseMs)
    }
  }
}

/** One attempt, from where the part ends; of a part that is whole, the last byte, for what the place states of the file. */
async function readOn(
  { place, file, onBytes }: Download,
  part: PartialFile,
): Promise<StatedChecksum | undefined> {
  const isWhole = part.at === file.bytes
  if (isWhole && file.checksum !== undefined) return file.checksum
  const from = isWhole ? Math.max(0, file.bytes - 1) : part.at
  const content = await place.open(file, from)
  if (content.from !== from) part.startAgain()
  let known = part.at - content.from
  for await (const bytes of content.bytes) {
    await part.append(bytes.subarray(Math.min(known, bytes.length)))
    known = Math.max(0, known - bytes.length)
    onBytes?.(part.at)
  }
  if (part.at < file.bytes) {
    throw new WeirError('CONNECTOR_FAILED', `the answer ended at byte ${part.at}`)
  }
  return content.checksum
}

/** The beginning of a file, with its digests so far. */
class PartialFile {
  at = 0
  private hashes: Hashes
  private readonly target: OpenFile
  private readonly file: PlaceFile

  constructor(target: OpenFile, file: PlaceFile) {
    this.target = target
    this.file = file
    this.hashes = hashesOf(file)
  }

  /** Takes what is in the file; what is longer than the whole is no beginning of it. */
  async readBack(): Promise<void> {
    if (this.target.sizeSync() > this.file.bytes) return this.startAgain()
    const buffer = new Uint8Array(CHUNK)
    for (;;) {
      const read = await readFully(this.target, buffer, this.at)
      if (read === 0) return
      this.add(buffer.subarray(0, read))
    }
  }

  startAgain(): void {
    this.target.truncateSync(0)
    this.at = 0
    this.hashes = hashesOf(this.file)
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (this.at + bytes.length > this.file.bytes) {
      throw mismatch(this.file, `more than ${this.file.bytes} bytes`)
    }
    await this.target.write([bytes], this.at)
    this.add(bytes)
  }

  digest(algorithm: StatedChecksum['algorithm']): string | undefined {
    return this.hashes[algorithm]?.digest('hex')
  }

  private add(bytes: Uint8Array): void {
    for (const hash of Object.values(this.hashes)) hash.update(bytes)
    this.at += bytes.length
  }
}

type Hashes = Readonly<Partial<Record<StatedChecksum['algorithm'], Hash>>>

/** The hash that the list of the place states, or those that an answer may state. */
function hashesOf({ bytes, checksum }: PlaceFile): Hashes {
  if (checksum === undefined) return { sha256: createHash('sha256'), md5: createHash('md5') }
  const { algorithm } = checksum
  if (algorithm !== 'git-sha1') return { [algorithm]: createHash(algorithm) }
  return { 'git-sha1': createHash('sha1').update(`blob ${bytes}\0`) }
}

function mismatch({ path }: PlaceFile, what: string): WeirError {
  const message = `${path} came with ${what}; nothing of it was kept, push it again`
  return new WeirError('CHECKSUM_MISMATCH', message)
}

function stuck({ path, bytes }: PlaceFile, at: number, cause: WeirError): WeirError {
  const message = `${path} came up to byte ${at} of ${bytes}: ${cause.message}; the same command continues there`
  return new WeirError('CONNECTOR_FAILED', message, { cause })
}

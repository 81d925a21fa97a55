import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  read,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { WeirError } from '../../core/errors.ts'

/**
 * A file without a name, for data that only this process needs: its entry in the folder is deleted as soon
 * as it is open, so that the disk is free again when the process ends, however that happens. Its descriptor
 * can be used by every thread of the process. Calls block the thread. They throw errors of the file system.
 */
export class NamelessFile implements Disposable {
  /** File descriptor. */
  readonly descriptor: number
  private end = 0

  /** Opens a file in a folder, which is created if it does not exist. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    const path = join(folder, `spill-${process.pid}-${NamelessFile.opened++}`)
    this.descriptor = openSync(path, 'wx+')
    rmSync(path)
  }

  private static opened = 0

  /** Number of bytes. */
  get size(): number {
    return this.end
  }

  /** Writes at the end. */
  append(bytes: Uint8Array): void {
    this.write(bytes, this.end)
  }

  /** Writes at a position. */
  write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.descriptor, bytes, done, bytes.length - done, position + done)
    }
    this.end = Math.max(this.end, position + bytes.length)
  }

  /** Deletes the content. */
  clear(): void {
    ftruncateSync(this.descriptor)
    this.end = 0
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor)
  }
}

/** Fills `bytes` from a position of an open file. Throws MALFORMED_DATA if the file is too short. */
export function readFully(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(descriptor, bytes, done, bytes.length - done, position + done)
    if (count === 0) throw endsAt(position + done)
    done += count
  }
}

const readLater = promisify(read)

/** As `readFully`, while the thread does other things. */
export async function readAhead(
  descriptor: number,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const rest = bytes.length - done
    const { bytesRead } = await readLater(descriptor, bytes, done, rest, position + done)
    if (bytesRead === 0) throw endsAt(position + done)
    done += bytesRead
  }
}

function endsAt(position: number): WeirError {
  return new WeirError(
    'MALFORMED_DATA',
    `a file of spilled ratings ends at byte ${position}; train again`,
  )
}

import { readFileSync, replaceFileSync } from '../../../files/durable-files.ts'
import type { FileSystem } from '../../../files/file-system.ts'

/** Offsets that a repair gives up: from the first to before the second. */
export type LostOffsets = readonly [from: number, to: number]

/** What the repair of one file does, or why it cannot be repaired. */
export interface FileRepair {
  readonly file: string
  /** Where the damaged bytes are kept; undefined if the file is missing or is not repaired. */
  readonly saved: string | undefined
  readonly lost: readonly LostOffsets[]
  /** What the operator must do, if the file cannot be repaired. */
  readonly advice?: string
}

/** A name for the damaged bytes of a file: `<file>.damaged`, or `<file>.damaged-n` if that is taken. */
export function damagedName(files: FileSystem, file: string): string {
  let name = `${file}.damaged`
  for (let n = 2; files.statSync(name) !== undefined; n++) name = `${file}.damaged-${n}`
  return name
}

/** Copies a small file, durably. The original stays, so that a crash leaves no gap. */
export function copyAside(files: FileSystem, file: string, copy: string): void {
  replaceFileSync(files, copy, readFileSync(files, file))
}

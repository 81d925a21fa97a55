import { randomUUID } from 'node:crypto'
import { systemClock } from '../../core/clock.ts'
import { readFileSync } from '../../files/durable-files.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { withFileLock } from './tokens-lock.ts'

/*
 * Format of the file of last uses, `<tokens file>.uses`: JSON, {"version": 1, "uses": {ID: {"last": ISO 8601 text,
 * "from": ADDRESS}}}. Each server that accepts the tokens adds its uses to those of the others. It is only read by
 * people, so a file in another form counts as empty.
 */

const VERSION = 1

/** Last use of a token on any server of its file. */
export interface StoredUse {
  /** ms since 1970. */
  readonly lastMs: number
  /** Address that it came from; empty where it is not known. */
  readonly from: string
}

/** Last uses by the id of the token. */
export type StoredUses = ReadonlyMap<string, StoredUse>

/** The last uses of the tokens of a file; none where they are not known. */
export function readUses(tokensFile: string): StoredUses {
  try {
    return parseUses(new TextDecoder().decode(readFileSync(nodeFileSystem, usesFile(tokensFile))))
  } catch {
    return new Map()
  }
}

/**
 * Adds last uses to those that are stored; the later one of a token stays. Throws PERMISSION_DENIED, DISK_FULL,
 * DEADLINE_EXCEEDED.
 */
export async function addUses(tokensFile: string, uses: StoredUses): Promise<void> {
  const file = usesFile(tokensFile)
  await withFileLock(
    file,
    () => {
      const merged = new Map(readUses(tokensFile))
      for (const [id, use] of uses) {
        if (use.lastMs > (merged.get(id)?.lastMs ?? 0)) merged.set(id, use)
      }
      replace(file, formatUses(merged))
    },
    systemClock,
  )
}

/** Text of a file of last uses. */
export function formatUses(uses: StoredUses): string {
  const shown = [...uses].map(([id, { lastMs, from }]) => [
    id,
    { last: new Date(lastMs).toISOString(), from },
  ])
  return `${JSON.stringify({ version: VERSION, uses: Object.fromEntries(shown) }, undefined, 2)}\n`
}

/** Last uses in the text of a file. Throws SyntaxError and TypeError for another form. */
export function parseUses(text: string): StoredUses {
  const { version, uses } = JSON.parse(text) as {
    readonly version: unknown
    readonly uses: Readonly<Record<string, { readonly last: string; readonly from: unknown }>>
  }
  if (version !== VERSION) throw new TypeError(`version ${String(version)} is not ${VERSION}`)
  const found = Object.entries(uses).map(([id, { last, from }]): [string, StoredUse] => [
    id,
    { lastMs: Date.parse(last), from: String(from) },
  ])
  return new Map(found.filter(([, { lastMs }]) => Number.isFinite(lastMs)))
}

function usesFile(tokensFile: string): string {
  return `${tokensFile}.uses`
}

/** Not forced to the disk, which takes milliseconds on the thread of a server: after a crash a use is missing. */
function replace(file: string, text: string): void {
  const temporary = `${file}.${randomUUID()}`
  const opened = nodeFileSystem.openSync(temporary, 'new')
  try {
    opened.writeSync([new TextEncoder().encode(text)], 0)
  } finally {
    opened.closeSync()
  }
  nodeFileSystem.renameSync(temporary, file)
}

import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32c } from '../../core/hash/crc32c.ts'
import { isRunning, PROCESS_PLACE, processIdentity } from '../../files/running-process.ts'

/*
 * A folder is named `weir-graphs-PLACE-PID-START-RANDOM`: where the id of the process means something, the id, and
 * when the process started, in clock ticks. A process that is killed leaves its folder, and the next engine
 * deletes it.
 */
const PREFIX = `weir-graphs-${placeOf(Object.values(PROCESS_PLACE).join(' '))}-`
const OWNER = /^([0-9]+)-([0-9]*)-/

/** Folder for the optimised graphs of the models of one engine, which only this user can read. It goes with the engine. */
export class GraphFolder implements Disposable {
  private folder: string | undefined
  private files = 0

  /** A file for another model; it is not there yet. */
  file(): string {
    this.folder ??= newFolder()
    return join(this.folder, `${this.files++}.onnx`)
  }

  [Symbol.dispose](): void {
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true })
  }
}

function newFolder(): string {
  const { pid, processStart } = processIdentity(process.pid)
  return mkdtempSync(join(tmpdir(), `${PREFIX}${pid}-${processStart}-`))
}

/**
 * Deletes the folders of this user whose process has ended. Folders of another container or machine stay: whether
 * their process runs cannot be known here. What cannot be deleted stays, too.
 */
export function removeLostGraphs(): void {
  const directory = tmpdir()
  for (const name of namesIn(directory)) {
    if (name.startsWith(PREFIX) && isLost(name)) removeOwn(join(directory, name))
  }
}

function isLost(name: string): boolean {
  const [, pid, processStart] = OWNER.exec(name.slice(PREFIX.length)) ?? []
  if (pid === undefined || processStart === undefined) return false
  return !isRunning({ pid: Number(pid), processStart })
}

/** Another user may give a folder such a name, and could put links into it while it is being deleted. */
function removeOwn(folder: string): void {
  try {
    const found = lstatSync(folder)
    if (!found.isDirectory() || found.uid !== process.getuid?.()) return
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // Another engine deletes it, too.
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function placeOf(text: string): string {
  return crc32c(Buffer.from(text)).toString(16).padStart(8, '0')
}

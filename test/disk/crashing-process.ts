import type { Random } from '../../src/core/random.ts'
import type { SimulatedDisk } from './simulated-disk.ts'
import { type DiskProcess, ProcessDied, SimulatedMount } from './simulated-mount.ts'

/** What goes wrong in the life of a process. */
export interface ProcessFate {
  /** Number of the file operation at which the process dies, from 0; undefined for never. */
  readonly crashAt: number | undefined
  /** Chance that a sync fails with EIO, and that the disk runs full or has room again, per operation. */
  readonly faultRate: number
}

/** A process on a simulated disk that dies at one of its file operations. */
export class CrashingProcess implements DiskProcess {
  readonly files: SimulatedMount
  /** Resolves when the process dies. */
  readonly died: Promise<void>
  /** Whether the process's last file operation was a sync that failed. */
  failedLast = false
  /** File operations so far. */
  operations = 0
  private readonly disk: SimulatedDisk
  private readonly random: Random
  private readonly fate: ProcessFate
  private dead = false
  private resolveDied: () => void = () => {}

  constructor(disk: SimulatedDisk, random: Random, fate: ProcessFate) {
    this.disk = disk
    this.random = random
    this.fate = fate
    this.files = new SimulatedMount(disk, this)
    this.died = new Promise((resolve) => {
      this.resolveDied = resolve
    })
  }

  get alive(): boolean {
    return !this.dead
  }

  /** Ends the process between two operations. */
  kill(): void {
    this.dead = true
    this.resolveDied()
  }

  before(operation: string, _path: string, apply: () => void): void {
    if (this.dead) throw new ProcessDied()
    const isSync = operation === 'datasync' || operation === 'syncFolder'
    if (this.operations++ === this.fate.crashAt) {
      this.kill()
      // The operation may take effect, but not that of a sync: it ends after all it forces is forced.
      if (!isSync && this.random.below(2) === 0) apply()
      throw new ProcessDied()
    }
    this.failedLast = false
    if (this.fate.faultRate === 0 || this.random.next() >= this.fate.faultRate) return
    if (isSync) {
      this.failedLast = true
      this.disk.failNextSync()
    } else this.disk.full = !this.disk.full
  }
}

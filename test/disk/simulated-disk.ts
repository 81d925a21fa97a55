import { type Random, seededRandom } from '../../src/core/random.ts'
import {
  SimulatedFile,
  SimulatedFolder,
  type SimulatedNode,
  type Survival,
  systemError,
} from './simulated-nodes.ts'

const SURVIVALS: readonly Survival[] = ['none', 'some', 'some', 'all']

/**
 * A disk in memory that keeps what was forced apart from what was not: a file's bytes by `datasync`, a
 * folder's entries by `syncFolder`. A power cut keeps a seeded subset of the rest: any write, also
 * torn at a sector, and any entry, in any combination. It can refuse a sync once, and then forget what
 * it was to force, as Linux does; run full; and flip a bit. The same seed gives the same disk.
 */
export class SimulatedDisk {
  readonly random: Random
  /** Whether the disk has no room: whatever grows throws ENOSPC, after a part of the write. */
  full = false
  /** Time that files get, ms since 1970. */
  nowMs = 1_000_000
  private readonly root = new SimulatedFolder()
  private failures = 0

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  /** The next sync of a file or folder throws EIO, and some of what it was to force is lost. */
  failNextSync(): void {
    this.failures += 1
  }

  /** Forces a file or folder, or fails as `failNextSync` has asked for. */
  force(node: SimulatedNode, call: string, path: string): void {
    if (this.failures === 0) {
      node.force()
      return
    }
    this.failures -= 1
    node.forceFailed(this.random)
    throw systemError('EIO', call, path)
  }

  /** Every process has ended, and only what the disk keeps is left. */
  powerCut(survival: Survival = SURVIVALS[this.random.below(SURVIVALS.length)]!): void {
    const nodes = new Set<SimulatedNode>([this.root])
    for (const node of nodes) {
      if (node instanceof SimulatedFolder) for (const inner of node.known()) nodes.add(inner)
    }
    const folders = [...nodes].filter((node) => node instanceof SimulatedFolder)
    for (const folder of folders) folder.cutAdded(survival, this.random)
    for (const folder of folders) folder.cutMoved(survival, this.random)
    for (const node of nodes) {
      if (node instanceof SimulatedFile) node.cut(survival, this.random)
    }
    this.failures = 0
    this.full = false
  }

  /** Flips one bit of a file, where the disk keeps it, too. */
  flip(path: string, position: number, bit: number): void {
    const node = this.find(path)
    if (!(node instanceof SimulatedFile)) throw systemError('ENOENT', 'flip', path)
    node.flip(position, bit)
  }

  /** The file or folder at an absolute path. */
  find(path: string): SimulatedNode | undefined {
    let node: SimulatedNode | undefined = this.root
    for (const part of path.split('/')) {
      if (part === '') continue
      node = node instanceof SimulatedFolder ? node.entries.get(part) : undefined
    }
    return node
  }

  /** Paths of all files that processes see, in order. */
  files(folder = '', node: SimulatedNode = this.root): string[] {
    if (node instanceof SimulatedFile) return [folder]
    return [...node.entries]
      .flatMap(([name, inner]) => this.files(`${folder}/${name}`, inner))
      .sort()
  }
}

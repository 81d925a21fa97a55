import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isWeirError, messageOf, type WeirError } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import {
  type DamagedFolder,
  type FolderImage,
  imageOf,
  restoreImage,
  writeCheckpoints,
  writeModel,
} from './damage-folder.ts'
import { writeLog } from './damage-log.ts'
import { writeRegistry } from './damage-registry.ts'

/** A damage of one file. */
interface Damage {
  readonly file: string
  readonly kind: 'flip' | 'cut' | 'remove'
  readonly at: number
  readonly bit: number
  /** Whether every bit of this byte is flipped. */
  readonly isEveryBit: boolean
}

/** A part of Weir that writes files. */
export type DamagedPart = 'log' | 'checkpoints' | 'model' | 'registry'

const WRITERS: Readonly<Record<DamagedPart, (path: string) => Promise<DamagedFolder>>> = {
  log: writeLog,
  checkpoints: writeCheckpoints,
  model: writeModel,
  registry: writeRegistry,
}

/** Options of the campaign. */
export interface DamageCampaignOptions {
  readonly seed: number
  /** Number of cases: each removal, and others drawn by the seed; undefined for every byte of every file. */
  readonly cases: number | undefined
  /** Parts of Weir whose files are damaged; default: all. */
  readonly parts?: readonly DamagedPart[]
  readonly onViolation?: (text: string) => void
}

/** Result of the campaign. */
export interface DamageCampaignReport {
  readonly campaign: 'damage'
  readonly seed: number
  readonly files: number
  readonly cases: number
  /** Cases that gave the same data, an older checkpoint with a warning, and a typed error. */
  readonly same: number
  readonly fellBack: number
  readonly refused: number
  readonly violations: readonly string[]
}

/**
 * Flips, cuts and removes every byte of every file that Weir wrote into real folders. The result must be
 * the same data, an older checkpoint with a warning that names the damaged one, or a typed error
 * that names the file; and no other file may be removed, cut or changed.
 */
export async function runDamageCampaign(
  options: DamageCampaignOptions,
): Promise<DamageCampaignReport> {
  const root = mkdtempSync(join(tmpdir(), 'weir-damage-'))
  try {
    const { parts = Object.keys(WRITERS) as DamagedPart[] } = options
    const folders: DamagedFolder[] = []
    for (const part of parts) folders.push(await WRITERS[part](join(root, part)))
    return await new DamageRun(options).run(folders)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

class DamageRun {
  private readonly options: DamageCampaignOptions
  private readonly violations: string[] = []
  private readonly counts = { files: 0, cases: 0, same: 0, fellBack: 0, refused: 0 }

  constructor(options: DamageCampaignOptions) {
    this.options = options
  }

  async run(folders: readonly DamagedFolder[]): Promise<DamageCampaignReport> {
    const images = folders.map((folder) => imageOf(folder.path))
    const all = images.flatMap((image, i) =>
      damagesOf(folders[i]!, image).map((damage) => ({ i, damage })),
    )
    const chosen = this.choose(all)
    this.counts.files = images.reduce((sum, image) => sum + image.size, 0)
    const whole: string[] = []
    for (const [i, folder] of folders.entries()) {
      restoreImage(folder.path, images[i]!)
      whole.push(await folder.read(() => {}))
    }
    for (const { i, damage } of chosen) {
      restoreImage(folders[i]!.path, images[i]!)
      await this.runCase(folders[i]!, { image: images[i]!, whole: whole[i]!, damage })
    }
    const { seed } = this.options
    return { campaign: 'damage', seed, ...this.counts, violations: this.violations }
  }

  /** Every removal, because there are few of them. The seed draws flips and cuts: a third of them where every bit is flipped. */
  private choose<T extends { readonly damage: Damage }>(all: readonly T[]): readonly T[] {
    const { seed, cases = all.length } = this.options
    if (cases >= all.length) return all
    const random = seededRandom(seed)
    const removals = all.filter(({ damage }) => damage.kind === 'remove')
    const everyBit = all.filter(({ damage }) => damage.isEveryBit)
    const others = Math.max(0, cases - removals.length)
    const drawn = Array.from({ length: others }, (_, i) => {
      const from = i % 3 === 0 && everyBit.length > 0 ? everyBit : all
      return from[random.below(from.length)]!
    })
    return [...removals, ...drawn]
  }

  private async runCase(
    folder: DamagedFolder,
    {
      image,
      whole,
      damage,
    }: { readonly image: FolderImage; readonly whole: string; readonly damage: Damage },
  ): Promise<void> {
    this.counts.cases += 1
    apply(folder.path, image, damage)
    const report = (text: string): void => {
      const { file, kind, at, bit } = damage
      const line = `${folder.name}: ${kind} ${file} at ${at}${kind === 'flip' ? ` bit ${bit}` : ''}: ${text}`
      this.violations.push(line)
      this.options.onViolation?.(line)
    }
    const warnings: WeirError[] = []
    try {
      const read = await folder.read((warning) => warnings.push(warning))
      if (read === whole) this.counts.same += 1
      else if (warnings.some(({ message }) => names(message, damage.file)))
        this.counts.fellBack += 1
      else report('other data, without an error')
    } catch (error) {
      if (!isWeirError(error)) report(`untyped: ${messageOf(error)}`)
      else if (!names(error.message, damage.file)) report(`the file is not named: ${error.message}`)
      else this.counts.refused += 1
    }
    for (const text of changes(folder, image, damage)) report(text)
  }
}

/** Whether a message names a file, or its folder: "chk-3", "plain/0". */
function names(message: string, file: string): boolean {
  return message.includes(basename(file)) || message.includes(dirname(file))
}

/** All damages of a folder: at each byte a cut, and a flip of one bit or of every bit; each file removed. */
function damagesOf(folder: DamagedFolder, image: FolderImage): Damage[] {
  return [...image].flatMap(([file, bytes]) => {
    const everyBit = folder.flipsEveryBit?.(file, bytes)
    const damages: Damage[] = [{ file, kind: 'remove', at: 0, bit: 0, isEveryBit: false }]
    for (let at = 0; at < bytes.length; at++) {
      const isEveryBit = everyBit?.has(at) === true
      const bits = isEveryBit ? [0, 1, 2, 3, 4, 5, 6, 7] : [(at * 5) % 8]
      for (const bit of bits) damages.push({ file, kind: 'flip', at, bit, isEveryBit })
      damages.push({ file, kind: 'cut', at, bit: 0, isEveryBit: false })
    }
    return damages
  })
}

function apply(folder: string, image: FolderImage, { file, kind, at, bit }: Damage): void {
  const path = join(folder, file)
  if (kind === 'remove') {
    rmSync(path)
    return
  }
  const bytes = kind === 'cut' ? image.get(file)!.slice(0, at) : image.get(file)!.slice()
  if (kind === 'flip') bytes[at]! ^= 1 << bit
  writeFileSync(path, bytes)
}

/** What was done to files that are whole. */
function changes(folder: DamagedFolder, image: FolderImage, damage: Damage): string[] {
  const after = imageOf(folder.path)
  const found: string[] = []
  for (const [file, bytes] of image) {
    if (folder.mayChange(file)) continue
    const now = after.get(file)
    if (file === damage.file) {
      // The damaged file itself is evidence: it may grow, but nothing of it may be cut off.
      if (damage.kind === 'flip' && (now === undefined || now.length < bytes.length)) {
        found.push(`the damaged file was cut from ${bytes.length} to ${now?.length} bytes`)
      }
      continue
    }
    if (now === undefined) found.push(`${file}, which is whole, was removed`)
    else if (Buffer.compare(now.subarray(0, bytes.length), bytes) !== 0) {
      found.push(`${file}, which is whole, was changed`)
    }
  }
  return found
}

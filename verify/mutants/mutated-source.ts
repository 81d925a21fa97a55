import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Edit, Mutant } from './seeded.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/**
 * The text of a source file after an edit. Throws when the text of the edit is not in it exactly once:
 * the source has changed, and the mutant must change with it.
 */
export function applyEdit(content: string, { file, text, replacement }: Edit): string {
  const parts = content.split(text)
  if (parts.length === 2) return parts.join(replacement)
  throw new Error(`src/${file} has this text ${parts.length - 1} times, not once: ${text}`)
}

/** The content of a file below `src`. */
export function sourceOf(file: string): string {
  return readFileSync(join(ROOT, 'src', file), 'utf8')
}

/** A copy of Weir and of the verifier's jobs with the error of a mutant, in a temporary folder. */
export class MutatedSource implements Disposable {
  readonly folder: string

  /** Without a mutant, the copy is Weir as it is. */
  constructor(mutant?: Mutant) {
    this.folder = mkdtempSync(join(tmpdir(), 'weir-mutant-'))
    mkdirSync(join(this.folder, 'verify'))
    for (const name of ['src', 'package.json', join('verify', 'jobs')]) {
      cpSync(join(ROOT, name), join(this.folder, name), { recursive: true })
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'))
    for (const edit of mutant?.edits ?? []) this.apply(edit)
  }

  private apply(edit: Edit): void {
    const path = join(this.folder, 'src', edit.file)
    writeFileSync(path, applyEdit(readFileSync(path, 'utf8'), edit))
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

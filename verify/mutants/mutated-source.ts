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
import type { Edit } from './seeded.ts'

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

/** What the verifier needs of a Weir. */
const VERIFIED = ['src', 'package.json', join('verify', 'jobs')]
/** What tests need. */
export const TESTED = ['src', 'test', 'verify', 'scripts', 'package.json', 'vitest.config.ts']

/** A copy of Weir with the error of a mutant, in a temporary folder. */
export class MutatedSource implements Disposable {
  readonly folder: string

  /** Without a mutant, the copy is Weir as it is. `parts`: the files and folders that it has. */
  constructor(mutant?: { readonly edits: readonly Edit[] }, parts: readonly string[] = VERIFIED) {
    this.folder = mkdtempSync(join(tmpdir(), 'weir-mutant-'))
    mkdirSync(join(this.folder, 'verify'))
    for (const name of parts) {
      cpSync(join(ROOT, name), join(this.folder, name), { recursive: true })
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'))
    this.apply(mutant?.edits ?? [])
  }

  /** Makes the edits of one more mutant. */
  apply(edits: readonly Edit[]): void {
    for (const edit of edits) {
      const path = join(this.folder, 'src', edit.file)
      writeFileSync(path, applyEdit(readFileSync(path, 'utf8'), edit))
    }
  }

  /** Takes edits back: their files are as in Weir. */
  restore(edits: readonly Edit[]): void {
    for (const { file } of edits) writeFileSync(join(this.folder, 'src', file), sourceOf(file))
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A repository of git in a folder of its own, with one commit. Deleted at the end of its scope. */
export class RepositoryFixture implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'weir-changed-'))

  constructor(files: Readonly<Record<string, string>>) {
    this.git('init', '--quiet', '--template=')
    for (const [file, text] of Object.entries(files)) this.write(file, text)
    this.commit()
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.root, file)), { recursive: true })
    writeFileSync(join(this.root, file), text)
  }

  delete(file: string): void {
    rmSync(join(this.root, file))
  }

  /** Commits all changes. */
  commit(): void {
    this.git('add', '--all')
    const author = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
    this.git(...author, '-c', 'commit.gpgsign=false', 'commit', '--quiet', '--message', 'm')
  }

  git(...words: readonly string[]): void {
    execFileSync('git', words, { cwd: this.root })
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

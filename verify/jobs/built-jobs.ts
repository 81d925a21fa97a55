import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from '../../scripts/build-package.ts'
import { startedModules } from '../../scripts/package-entries.ts'

/** The process of a job, and the jobs that it may run. */
const JOBS = ['process', 'counts', 'deltas', 'copies'].map((name) => `verify/jobs/${name}`)

/**
 * The modules of the verified jobs and of a Weir, joined into few files, as in the package: faults start these
 * processes again and again, and from the source that takes twice the processor time.
 */
export class BuiltJobs implements Disposable {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Builds those of a folder with the source of a Weir, its jobs and its packages. */
  static async of(source: string): Promise<BuiltJobs> {
    const built = new BuiltJobs(mkdtempSync(join(tmpdir(), 'weir-verified-')))
    const { folder } = built
    copyFileSync(join(source, 'package.json'), join(folder, 'package.json'))
    symlinkSync(join(source, 'node_modules'), join(folder, 'node_modules'))
    const entries = [...JOBS, ...startedModules().map((name) => `src/${name}`)]
    await bundle({ modules: source, ending: '.ts', folder, entries })
    return built
  }

  /** The program of a job's process. */
  get program(): string {
    return join(this.folder, `${JOBS[0]}.js`)
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

import { resolve } from 'node:path'
import { filesOf, importedFiles } from '../test/architecture/source-tree.ts'
import { runTools } from '../test/run/tools.ts'
import { commitSeed } from '../test/services/commit-seed.ts'

const ROOT = resolve(import.meta.dirname, '..')

/** The test files with campaigns: those that ask for the size of one. */
export function campaignTests(): readonly string[] {
  return filesOf('test').filter(
    (file) =>
      file.endsWith('.test.ts') && importedFiles(file).includes('test/run/campaign-size.ts'),
  )
}

/** Runs the test files with campaigns, whole, with the seed of the commit; returns the exit code. */
export async function runWhole(say: (line: string) => void): Promise<number> {
  const files = campaignTests()
  const seed = commitSeed()
  say(
    `${files.length} test files with campaigns, whole; seed ${seed}, as WEIR_SEED=${seed} sets it`,
  )
  const command = [process.execPath, 'test/run/main.ts', '--whole', ...files]
  return await runTools([command], { cwd: ROOT })
}

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CommandProcess, REPOSITORY } from './command-process.ts'

const EXAMPLES = join(REPOSITORY, 'examples')

const folders = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)

/** The output that an example's README promises: its block of plain text. */
function promisedOutput(folder: string): string {
  const readme = readFileSync(join(EXAMPLES, folder, 'README.md'), 'utf8')
  return /^```text\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? ''
}

describe('examples', () => {
  it('stand in the index', () => {
    const index = readFileSync(join(EXAMPLES, 'README.md'), 'utf8')
    for (const folder of folders) expect(index).toContain(`[${folder}](${folder})`)
  })

  it.each(folders)('%s prints what its README shows', async (folder) => {
    const main = join('examples', folder, 'main.ts')
    await using process = new CommandProcess(globalThis.process.execPath, [main])
    const { code, stdout, stderr } = await process.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(promisedOutput(folder))
  })
})

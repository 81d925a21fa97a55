import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

const ROOT = join(import.meta.dirname, '../../..')

it('the program of docs/guide/patterns.md prints what the page shows', async () => {
  const page = readFileSync(join(ROOT, 'docs/guide/patterns.md'), 'utf8')
  const [, source, shown] = /^```ts\n([\s\S]*?)^```\n\n```\n([\s\S]*?)^```$/m.exec(page)!
  const program = join(temporaryFolder(), 'patterns.ts')
  const entry = pathToFileURL(join(ROOT, 'src/index.ts')).href
  writeFileSync(program, source!.replace("'@weirjs/weir'", `'${entry}'`))
  const { stdout } = await promisify(execFile)(process.execPath, [program])
  expect(stdout).toBe(shown)
})

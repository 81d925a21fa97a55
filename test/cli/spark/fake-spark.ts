import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

/**
 * An environment whose `spark-submit` is a program of Node: `body` is its code, with `words` (its arguments), `task` (the last one,
 * parsed), `out` (the path of the folder to write) and `fs`.
 */
export function fakeSpark(body: string): Readonly<Record<string, string>> {
  const folder = temporaryFolder()
  const file = join(folder, 'spark-submit')
  writeFileSync(
    file,
    `#!${process.execPath}
const fs = require('node:fs')
const words = process.argv.slice(2)
const task = JSON.parse(words.at(-1))
const out = require('node:url').fileURLToPath(task.out)
${body}
`,
  )
  chmodSync(file, 0o755)
  return { PATH: folder }
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadProblem } from '../../../src/cli/serve/load-problem.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-load-problem-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const NODE_24 = { source: '', nodeVersion: '24.21.0' }
const USING = 'async build() {\n  await using topics = await openTopics()\n}'

describe('why a job cannot be loaded', () => {
  it('names the line of an error of syntax', () => {
    const error = new SyntaxError('Expression expected')
    const file = join(folder, 'job.ts')
    writeFileSync(file, '')
    error.stack = `${file}:4\n  build(env) { const = 3 }\n\n${error.stack}`
    expect(loadProblem(error, NODE_24)).toBe(`Expression expected (${file}:4)`)
    error.stack = `file://${file}:7\nx\n`
    expect(loadProblem(error, NODE_24)).toBe(`Expression expected (${file}:7)`)
  })

  it('says which Node reads `using`', () => {
    const error = new SyntaxError("Unexpected identifier 'topics'")
    error.stack = `${error}\n    at compileSourceTextModule (node:internal/modules/esm/utils:318:16)`
    const old = loadProblem(error, { source: USING, nodeVersion: '22.18.0' })
    expect(old).toContain('`using` needs Node 24 or newer, and this is Node 22.18.0')
    expect(loadProblem(error, { source: USING, nodeVersion: '24.0.0' })).toBe(error.message)
    expect(loadProblem(error, { source: 'const using = 1', nodeVersion: '22.18.0' })).toBe(
      error.message,
    )
  })

  it('is the message of every other error, with the line that threw it', () => {
    const error = new TypeError('no')
    error.stack = `TypeError: no\n    at ${join(folder, 'job.ts')}:7:3\n    at node:internal/x:1:1`
    const node = { source: USING, nodeVersion: '22.18.0' }
    expect(loadProblem(error, node)).toBe(`no (at ${join(folder, 'job.ts')}:7:3)`)
    error.stack = 'TypeError: no'
    expect(loadProblem(error, node)).toBe('no')
  })
})

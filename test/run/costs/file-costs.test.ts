import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { appendCosts, type FileCosts, mergeCosts, readCosts } from './file-costs.ts'

const costs = (file: string, seconds: number): FileCosts => ({
  file,
  seconds,
  processorSeconds: 0,
  waits: { server: 0, pause: 0, condition: 0 },
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-costs-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

it('keeps the newest costs of each file over several runs', () => {
  const at = folder()
  const [run, all] = [join(at, 'run.jsonl'), join(at, 'all.jsonl')]
  for (const seconds of [1, 2]) {
    appendCosts(run, costs('a', seconds))
    appendCosts(run, costs(`b${seconds}`, seconds))
    mergeCosts(run, all)
  }
  expect([...readCosts(all).values()]).toEqual([costs('a', 2), costs('b1', 1), costs('b2', 2)])
  expect(existsSync(run)).toBe(false)
})

it('has none before the first run', () => {
  expect(readCosts(join(folder(), 'none')).size).toBe(0)
})

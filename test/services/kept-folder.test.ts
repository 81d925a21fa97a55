import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { KeptFolder } from './kept-folder.ts'

it('a folder that was made once is given to all that are of the same kind', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-kept-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [made, given] = [mkdtempSync(join(root, 'made-')), mkdtempSync(join(root, 'given-'))]
  writeFileSync(join(made, 'version'), '1')
  writeFileSync(join(given, 'old'), 'gone')
  const kept = new KeptFolder('a.jar', root)
  expect(kept.exists).toBe(false)
  await kept.keep(made)
  writeFileSync(join(made, 'version'), '2')
  // Another process is later.
  await new KeptFolder('a.jar', root).keep(made)
  expect(kept.exists).toBe(true)
  expect(new KeptFolder('b.jar', root).exists).toBe(false)
  await kept.give(given)
  expect(readdirSync(given)).toEqual(['version'])
  expect(readFileSync(join(given, 'version'), 'utf8')).toBe('1')
  expect(readdirSync(root)).toHaveLength(3)
})

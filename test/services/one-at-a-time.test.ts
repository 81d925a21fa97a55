import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { oneAtATime } from './one-at-a-time.ts'

function newLock(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'lock')
}

it('work waits for the work before it, also where that fails', async () => {
  const lock = newLock()
  const events: string[] = []
  const begun = Promise.withResolvers<void>()
  const first = oneAtATime(lock, async () => {
    events.push('first')
    begun.resolve()
    await setImmediate()
    events.push('first ends')
    throw new Error('it failed')
  })
  await begun.promise
  const second = oneAtATime(lock, async () => events.push('second'))
  await expect(first).rejects.toThrow('it failed')
  await second
  expect(events).toEqual(['first', 'first ends', 'second'])
  expect(existsSync(lock)).toBe(false)
})

it('the lock of a process that was killed is ignored', async () => {
  const lock = newLock()
  const { pid } = spawnSync(process.execPath, ['--version'])
  writeFileSync(lock, String(pid))
  expect(await oneAtATime(lock, async () => 'done')).toBe('done')
})
